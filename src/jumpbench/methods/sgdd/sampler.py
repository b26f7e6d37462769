"""SGDD: split Gibbs posterior sampling with a discrete diffusion prior (Algorithm 1)."""

from collections.abc import Callable

import torch

from jumpbench.errors import UserError
from jumpbench.methods.sgdd.interface import drawn
from jumpbench.methods.sgdd.likelihood_step import LikelihoodStep
from jumpbench.methods.sgdd.likelihoods import Likelihood
from jumpbench.methods.sgdd.prior import Prior
from jumpbench.methods.sgdd.schedule import paper_times, printed_penalty
from jumpbench.processes.uniform import UniformProcess
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.progress import reported


class SplitGibbs:
    """Alternates two conditionals of pi(x, z) ~ p(x) p(y|z) exp(-penalty(eta) d(x, z)), eta -> 0.

    Likelihood step: z given x, near x in Hamming distance. Prior step: x given z, drawn by
    reverse diffusion from z at noise level eta. Both use the same eta_k within iteration k.

    Args:
        n_iterations: K.
        prior_steps: H, reverse steps per prior step; 0 is one denoising draw, which is exact for
            product priors.
        likelihood_step: how z is drawn; in the paper by Metropolis-Hastings, whose number of
            proposals T must be many times D, or z hardly leaves x.
        times: annealing times for K, :func:`paper_times` or :func:`endpoint_times`.
        penalty: nats per mismatch at (eta, N), :func:`printed_penalty` (what the paper ran) or
            :func:`consistent_penalty` (whose prior step is the conditional of the same joint).
        prior_first: start with a prior step from a uniform z, not a likelihood step from a
            uniform x.
        return_z: return z and not x; by default the one that was updated last.
        keep_path: also give x and z of every iteration, as the extra ``path`` (B, K, 2, D), x
            before z.

    Raises:
        UserError: no iteration, or a negative number of reverse steps.
    """

    def __init__(
        self,
        n_iterations: int,
        prior_steps: int,
        likelihood_step: LikelihoodStep,
        times: Callable[[int], list[float]] = paper_times,
        penalty: Callable[[float, int], float] = printed_penalty,
        prior_first: bool = False,
        return_z: bool | None = None,
        keep_path: bool = False,
    ) -> None:
        if n_iterations < 1 or prior_steps < 0:
            raise UserError(
                f"split Gibbs needs n_iterations >= 1 and prior_steps >= 0, not {n_iterations} and "
                f"{prior_steps}"
            )
        self.n_iterations, self.prior_steps = n_iterations, prior_steps
        self.likelihood_step = likelihood_step
        self.times, self.penalty = times, penalty
        self.prior_first = prior_first
        self.return_z = prior_first if return_z is None else return_z
        self.keep_path = keep_path

    def __call__(
        self, prior: Prior, likelihood: Likelihood, generator: torch.Generator, n_chains: int
    ) -> Draws:
        """Samples (n_chains, D).

        Raises:
            ValueError: the prior's process is not uniform; another number of chains than of
                measurements, where each chain has its own; a table of another size than the prior.
        """
        if not isinstance(prior.process, UniformProcess):
            raise ValueError(
                f"split Gibbs is defined for the uniform kernel, not for a "
                f"{type(prior.process).__name__}: its penalty is that kernel's; use SMC, SVDD or "
                "DPS with this prior"
            )
        likelihood.check_chains(n_chains)
        table, size = likelihood.site_log_likelihood(), (prior.length, prior.n_states)
        if table is not None and table.shape[-2:] != size:
            raise ValueError(
                f"the likelihood's table is for {tuple(table.shape[-2:])} sites and symbols, the "
                f"prior has {size}"
            )
        times = self.times(self.n_iterations)
        denoisers = prior.denoisers(times, self.prior_steps)
        small = torch.uint8 if prior.n_states <= 256 else torch.int32
        x = z = prior.noise(n_chains, generator)
        acceptances, path, evaluations, steps = [], [], 0.0, 0
        for t, denoiser in reported(zip(times, denoisers, strict=True), len(times)):
            penalty = self.penalty(float(prior.schedule.total(t)), prior.n_states)
            if self.prior_first:
                x = denoiser(z, generator)
            z, info = self.likelihood_step(x, z, penalty, likelihood, prior.n_states, generator)
            if not self.prior_first:
                x = denoiser(z, generator)
            evaluations += info.evaluations
            steps += info.sequential_steps
            if info.acceptance is not None:
                acceptances.append(info.acceptance)
            if self.keep_path:
                path.append(torch.stack([x, z], 1).to(small))
        calls = sum(denoiser.network_calls for denoiser in denoisers)
        extras = {"acceptance": torch.stack(acceptances).mean(0)} if acceptances else {}
        if path:
            extras["path"] = torch.stack(path, 1)
        return drawn(
            z if self.return_z else x,
            Cost(calls, evaluations, calls + steps),
            sum(denoiser.counted_calls for denoiser in denoisers),
            sequential=None,
            **extras,
        )
