"""Split Gibbs posterior sampling with a discrete diffusion prior, and its baselines."""

from jumpbench.methods.sgdd.baselines.dps import DPS, ExactDPS
from jumpbench.methods.sgdd.baselines.fk_max import FKMax
from jumpbench.methods.sgdd.baselines.guidance import CG
from jumpbench.methods.sgdd.baselines.smc import SMC
from jumpbench.methods.sgdd.baselines.svdd import SVDD
from jumpbench.methods.sgdd.baselines.tds import TDS
from jumpbench.methods.sgdd.likelihood_step import ExactStep, MetropolisStep
from jumpbench.methods.sgdd.likelihoods import (
    InverseProblem,
    Likelihood,
    Reward,
    SiteLikelihood,
    euclidean,
    mismatches,
    squared,
)
from jumpbench.methods.sgdd.pair_likelihood import PairLikelihood
from jumpbench.methods.sgdd.prior import DenoiserPrior, Prior, ScorePrior, analytic, euler
from jumpbench.methods.sgdd.product_prior import ProductPrior
from jumpbench.methods.sgdd.sampler import SplitGibbs
from jumpbench.methods.sgdd.schedule import (
    consistent_penalty,
    endpoint_times,
    paper_times,
    printed_penalty,
)

__all__ = [
    "CG",
    "DPS",
    "SMC",
    "SVDD",
    "TDS",
    "DenoiserPrior",
    "ExactDPS",
    "ExactStep",
    "FKMax",
    "InverseProblem",
    "Likelihood",
    "MetropolisStep",
    "PairLikelihood",
    "Prior",
    "ProductPrior",
    "Reward",
    "ScorePrior",
    "SiteLikelihood",
    "SplitGibbs",
    "analytic",
    "consistent_penalty",
    "endpoint_times",
    "euclidean",
    "euler",
    "mismatches",
    "paper_times",
    "printed_penalty",
    "squared",
]
