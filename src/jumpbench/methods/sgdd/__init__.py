"""Split Gibbs posterior sampling with a discrete diffusion prior, and its baselines."""

from jumpbench.methods.sgdd.likelihoods import InverseProblem, Reward, SiteLikelihood
from jumpbench.methods.sgdd.prior import ProductPrior, ScorePrior
from jumpbench.methods.sgdd.sampler import SplitGibbs

__all__ = ["InverseProblem", "ProductPrior", "Reward", "ScorePrior", "SiteLikelihood", "SplitGibbs"]
