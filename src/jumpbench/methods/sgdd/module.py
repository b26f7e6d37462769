"""A posterior sampler as a method of the suite: chains in batches, histogram distances out."""

import torch

from jumpbench.data.synthetic_posterior import GridPosterior
from jumpbench.errors import UserError
from jumpbench.methods.base import Method
from jumpbench.methods.sgdd.interface import PosteriorSampler, SamplerInfo
from jumpbench.methods.sgdd.prior import Prior
from jumpbench.metrics.histogram import (
    HistogramHellinger,
    HistogramTotalVariation,
    hellinger,
    sampling_floor,
    total_variation,
)
from jumpbench.seeding import make_generator


class SyntheticPosteriorSampling(Method):
    """Runs one sampler on the closed-form posterior and compares sites 1 and 2 with the truth.

    Logs ``hellinger`` and ``tv``, what a perfect sampler scores at the same number of samples
    (``hellinger_floor``, ``tv_floor``), the distance from the prior, and the cost per sample.
    Artifacts: the sampled and the true law of the two sites.

    Args:
        target: the posterior: its likelihood and its exact marginal.
        prior: the diffusion prior.
        sampler: SGDD or a baseline.
        floor_replicates: histograms of exact draws behind the floor.
    """

    def __init__(
        self,
        target: GridPosterior,
        prior: Prior,
        sampler: PosteriorSampler,
        floor_replicates: int = 64,
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        if (prior.length, prior.n_states) != (target.length, target.n_states):
            raise UserError(
                f"the prior has {prior.length} sites of {prior.n_states} states, the target "
                f"{target.length} of {target.n_states}; give both the same"
            )
        self.target, self.prior, self.sampler = target, prior, sampler
        self.floor_replicates = floor_replicates
        self.likelihood = target.likelihood()
        self.hellinger = HistogramHellinger(target.marginal())
        self.tv = HistogramTotalVariation(target.marginal())
        self._info: SamplerInfo | None = None

    def test_step(self, batch: list[torch.Tensor], batch_index: int) -> None:
        """One batch of independent chains."""
        n_chains = len(batch[0])
        samples, info = self.sampler(
            self.prior, self.likelihood, self.generator("chains"), n_chains
        )
        self.hellinger.update(samples)
        self.tv.update(samples)
        if info.acceptance is not None:
            self.log("test/acceptance", info.acceptance, batch_size=n_chains, sync_dist=True)
        self._info = info

    def on_test_epoch_end(self) -> None:
        with self.hellinger.sync_context():
            law = self.hellinger.frequencies().cpu()
            n_samples = int(self.hellinger.counts.sum())
        truth = self.target.marginal()
        self.log("test/hellinger", self.hellinger.compute())
        self.log("test/tv", self.tv.compute())
        # Samplers that fail fall back on the prior, so how far they got from it says how they fail.
        law_of_site = self.target.law
        from_prior = hellinger(law, torch.outer(law_of_site, law_of_site))
        self.log("test/prior_hellinger", from_prior)
        for name, distance in (("hellinger", hellinger), ("tv", total_variation)):
            generator = make_generator(self.seed, "floor")
            mean, std = sampling_floor(distance, truth, n_samples, self.floor_replicates, generator)
            self.log(f"test/{name}_floor", mean)
            self.log(f"test/{name}_floor_std", std)
        self.log("test/n_samples", float(n_samples))
        self.log("test/network_evaluations", float(self._info.network_evaluations))
        self.log("test/counted_evaluations", float(self._info.counted_evaluations))
        self.log("test/likelihood_evaluations", float(self._info.likelihood_evaluations))
        self.artifacts["sampled"] = law
        self.artifacts["truth"] = truth
