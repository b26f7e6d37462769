"""Guidance by gradients: the reverse step, tilted to first order towards a higher likelihood."""

from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional as F

from jumpbench.methods.sgdd.baselines.common import at_least_one, in_chunks, sampling_times
from jumpbench.methods.sgdd.interface import drawn
from jumpbench.methods.sgdd.likelihoods import Likelihood
from jumpbench.methods.sgdd.prior import CLEAN, Prior
from jumpbench.ops.categorical import sample_categorical
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.progress import reported


def predicted_gradient(prior: Prior, likelihood: Likelihood, x: Tensor, t: float) -> Tensor:
    """d/dx of log p(y | E[x_0 | x_t = x]) by the one-hot x, (B, D, N), of states (B, D)."""
    with torch.inference_mode(False), torch.enable_grad():
        weights = F.one_hot(x.long(), prior.n_states).to(torch.get_default_dtype())
        weights = weights.requires_grad_()
        clean = prior.relaxed_clean(weights, t)[..., : prior.n_symbols]
        (gradient,) = torch.autograd.grad(likelihood.relaxed(clean).sum(), weights)
    return gradient


def guided_step(
    prior: Prior, likelihood: Likelihood, x: Tensor, t: float, s: float, scale: float
) -> tuple[Tensor, Tensor]:
    """Log-laws (B, D, N), float64, of the reverse step from t to s: as it is, and tilted.

    Each symbol's probability is multiplied by exp(scale (G[i, v] - G[i, x_i])), G being
    :func:`predicted_gradient`, and the row scaled to one (Nisonoff et al. 2024, first order).
    Under a masked process only masked sites are tilted, relative to the mask: others do not move.
    """
    log_law = prior.step_probabilities(x, t, s).double().log()
    gradient = predicted_gradient(prior, likelihood, x, t).double()
    tilt = scale * (gradient - gradient.gather(-1, x.long()[..., None]))
    return log_law, (log_law + tilt).log_softmax(-1)


class CG:
    """Classifier guidance: reverse steps of :func:`guided_step`, one chain a sample, and a
    denoising draw without tilt at the end.

    A gradient is counted as one more network evaluation, beside that of the step's score, and as
    one evaluation of the likelihood.

    Args:
        n_steps: reverse steps.
        scale: of the tilt; the likelihood of a reward is beta r, so that its tilt is scale * beta.
        chunk: chains that run side by side, None for all (see :func:`in_chunks`).

    Raises:
        UserError: no step.
    """

    def __init__(self, n_steps: int, scale: float = 1.0, chunk: int | None = None) -> None:
        at_least_one(n_steps=n_steps)
        self.n_steps, self.scale, self.chunk = n_steps, scale, chunk

    def __call__(
        self, prior: Prior, likelihood: Likelihood, generator: torch.Generator, n_chains: int
    ) -> Draws:
        """Samples (n_chains, D).

        Raises:
            ValueError: the prior or the likelihood has no gradient.
        """
        times = sampling_times(self.n_steps)
        last = prior.denoisers([CLEAN], 0)[0]

        def run(chains: Tensor) -> Tensor:
            x = prior.noise(len(chains), generator)
            for t, s in reported(pairwise(times), self.n_steps):
                _, tilted = guided_step(prior, likelihood, x, t, s, self.scale)
                x = sample_categorical(tilted.exp(), generator).to(x.dtype)
            return last(x, generator).long()

        samples = in_chunks(run, likelihood, n_chains, self.chunk, generator.device)
        cost = Cost(2 * self.n_steps + 1, self.n_steps, 2 * self.n_steps + 1)
        return drawn(samples, cost, 2 * self.n_steps)
