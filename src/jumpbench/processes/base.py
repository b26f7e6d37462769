"""What all processes with independent sites share: bridges, posteriors, sampling.

States are integer tensors (..., D); ``noise`` is the accumulated noise of an interval (an output
of ``Schedule.integral`` or ``Schedule.total``), a number or a tensor broadcastable to the batch
dimensions (...), the same for all sites. Probabilities have shape (..., D, N).
"""

from abc import abstractmethod

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.ops.categorical import sample_categorical
from jumpbench.ops.precision import at_least_single
from jumpbench.processes.process import Process
from jumpbench.processes.schedules import as_tensor

Device = torch.device | str | None


def working_dtype(value: Tensor | float) -> torch.dtype:
    """The dtype of a floating tensor with dimensions; torch's default for single numbers."""
    if isinstance(value, Tensor) and value.is_floating_point() and value.ndim > 0:
        return at_least_single(value).dtype
    return torch.get_default_dtype()


def per_symbol(
    value: Tensor | float, dtype: torch.dtype | None, device: torch.device | None
) -> Tensor:
    """A quantity of the batch (...) as (..., 1, 1), to meet probabilities (..., D, N)."""
    return as_tensor(value).to(device, dtype or working_dtype(value))[..., None, None]


def is_symbol(x: Tensor, n_states: int) -> Tensor:
    """Boolean (..., D, N): True at the current symbol of every site."""
    return x[..., None] == torch.arange(n_states, device=x.device)


def normalise(weights: Tensor) -> Tensor:
    """Rows of non-negative weights (..., N) scaled to sum to one; negative entries count as 0."""
    weights = weights.clamp(min=0)
    return weights / weights.sum(-1, keepdim=True)


class SiteProcess(Process):
    """A jump process on symbols under which the D sites move independently and alike.

    Everything is dense over the N symbols of a site, and in float32 (or float64) whatever the
    precision of the scores that a network returned.

    Attributes:
        n_states: number of values of a site, N.
    """

    n_states: int

    @abstractmethod
    def transition(
        self, x: Tensor, noise: Tensor | float, dtype: torch.dtype | None = None
    ) -> Tensor:
        """P(v | x_i), probabilities (..., D, N) of every symbol after ``noise``, from x."""

    @abstractmethod
    def likelihood(
        self, x: Tensor, noise: Tensor | float, dtype: torch.dtype | None = None
    ) -> Tensor:
        """P(x_i | v), probabilities (..., D, N) to reach x after ``noise`` from every symbol."""

    @abstractmethod
    def rates(self, x: Tensor, rate: Tensor | float, dtype: torch.dtype | None = None) -> Tensor:
        """Forward jump rates (..., D, N) at noise rate ``rate`` (...), 0 at the current symbol."""

    @abstractmethod
    def reverse_rates(self, x: Tensor, score: Tensor, rate: Tensor | float) -> Tensor:
        """Reverse jump rates (..., D, N): forward rate from v to x_i times the concrete score.

        ``score`` (..., D, N) is p_t(x with site i := v) / p_t(x); ``rate`` (...) is sigma'(t).
        """

    @abstractmethod
    def analytic_step(self, x: Tensor, score: Tensor, noise: Tensor | float) -> Tensor:
        """Probabilities (..., D, N) of a reverse step that removes ``noise`` (Tweedie)."""

    @abstractmethod
    def sample_limit(
        self, *shape: int, generator: torch.Generator | None = None, device: Device = None
    ) -> Tensor:
        """States of the given shape from the law of infinite noise."""

    def kernel(self, noise: Tensor | float) -> Tensor:
        """Transition matrix (..., N, N) of one site, row = from, column = to."""
        noise = as_tensor(noise)
        symbols = torch.arange(self.n_states, device=noise.device)
        symbols = symbols.expand(*noise.shape, self.n_states)
        return self.transition(symbols, noise, dtype=noise.dtype)

    def sample(
        self, x: Tensor, noise: Tensor | float, generator: torch.Generator | None = None
    ) -> Tensor:
        """States (..., D) after ``noise``, starting from x, in the dtype of x.

        Raises:
            UserError: that dtype cannot hold all symbols.
        """
        self._check_holds(x)
        return sample_categorical(self.transition(x, noise), generator).to(x.dtype)

    def _check_holds(self, x: Tensor) -> None:
        if torch.iinfo(x.dtype).max < self.n_states - 1:
            raise UserError(
                f"{x.dtype} cannot hold {self.n_states} symbols: give states as torch.long"
            )

    def bridge(
        self,
        x0: Tensor,
        x1: Tensor,
        noise_before: Tensor | float,
        noise_after: Tensor | float,
        dtype: torch.dtype | None = None,
    ) -> Tensor:
        """p(x_t = v | x_0, x_1) = P(v | x_0) P(x_1 | v) / P(x_1 | x_0), shape (..., D, N).

        ``noise_before`` is that of [0, t], ``noise_after`` that of [t, 1]; one of them may be
        infinite. Where the pair (x_0, x_1) is itself impossible the row is NaN.
        """
        ahead = self.transition(x0, noise_before, dtype)
        return normalise(ahead * self.likelihood(x1, noise_after, dtype))

    def sample_bridge(
        self,
        x0: Tensor,
        x1: Tensor,
        noise_before: Tensor | float,
        noise_after: Tensor | float,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """States (..., D) of the bridge between x0 and x1, see :meth:`bridge`.

        Raises:
            UserError: the dtype of x0 cannot hold all symbols.
        """
        self._check_holds(x0)
        probabilities = self.bridge(x0, x1, noise_before, noise_after)
        return sample_categorical(probabilities, generator).to(x0.dtype)

    def posterior(
        self,
        xt: Tensor,
        x0: Tensor,
        noise_s: Tensor | float,
        noise_t: Tensor | float,
        dtype: torch.dtype | None = None,
    ) -> Tensor:
        """p(x_s = v | x_t, x_0), shape (..., D, N), s < t at total noises ``noise_s < noise_t``."""
        return self.bridge(x0, xt, noise_s, as_tensor(noise_t) - as_tensor(noise_s), dtype)

    def euler_step(
        self, x: Tensor, score: Tensor, rate: Tensor | float, dt: Tensor | float
    ) -> Tensor:
        """Probabilities (..., D, N) of a reverse Euler step: jumps dt * rate, stay with the rest.

        Where the jump probabilities exceed one there is no rest, and the row is scaled to one.
        """
        score = at_least_single(score)
        jump = self.reverse_rates(x, score, rate) * per_symbol(dt, score.dtype, score.device)
        stay = (1 - jump.sum(-1, keepdim=True)).clamp(min=0)
        return normalise(torch.where(is_symbol(x, self.n_states), stay, jump))

    def denoise(self, x: Tensor, score: Tensor, noise: Tensor | float) -> Tensor:
        """Per-site law (..., D, N) of the clean state given x at total noise ``noise``.

        The analytic step that removes all of it: exact for one site and for product laws.
        """
        return self.analytic_step(x, score, noise)

    def score(self, x: Tensor, clean: Tensor, noise: Tensor | float) -> Tensor:
        """Concrete score (..., D, N) from the law ``clean`` (..., D, N) of x_0 given x_t = x.

        E over x_0 of P(v | x_0) / P(x_i | x_0), that is p_t(x with site i := v) / p_t(x).
        """
        return self.propagate(self._per_reach(x, at_least_single(clean), noise), noise)

    def ancestral_step(
        self, x: Tensor, clean: Tensor, noise_s: Tensor | float, noise_t: Tensor | float
    ) -> Tensor:
        """E over x_0 ~ ``clean`` (..., D, N) of p(x_s | x_t = x, x_0), shape (..., D, N)."""
        clean = at_least_single(clean)
        passed = as_tensor(noise_t) - as_tensor(noise_s)
        start = self.propagate(self._per_reach(x, clean, noise_t), noise_s)
        return normalise(start * self.likelihood(x, passed, clean.dtype))

    def propagate(self, law: Tensor, noise: Tensor | float) -> Tensor:
        """Per-site law (..., D, N), or any weight of the start, carried forward by ``noise``."""
        return law @ self.kernel(as_tensor(noise).to(law.device, law.dtype))

    def _per_reach(self, x: Tensor, clean: Tensor, noise: Tensor | float) -> Tensor:
        """clean / P(x_i | x_0), 0 where x cannot be reached."""
        reach = self.likelihood(x, noise, clean.dtype)
        # 1 in place of 0, so that no gradient is 0/0 where nothing is reached.
        return torch.where(reach > 0, clean / torch.where(reach > 0, reach, 1.0), 0.0)
