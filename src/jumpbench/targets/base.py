"""What a target is: an unnormalised law nu on {0..N-1}^D, and its ratios at one-site changes."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from jumpbench.errors import UserError


@runtime_checkable
class DiscreteTarget(Protocol):
    """The interface that samplers and methods rely on."""

    length: int
    """Number of sites D."""
    n_states: int
    """Number of symbols N; states are integer tensors (..., D) with values ``0..N-1``."""

    def log_prob(self, x: Tensor) -> Tensor:
        """log nu(x) up to one additive constant; (..., D) -> (...)."""
        ...

    def neighbor_log_ratios(self, x: Tensor) -> Tensor:
        """log nu(x^{d<-n}) - log nu(x), (..., D) -> (..., D, N), 0 at the current symbol."""
        ...


class Target:
    """Base class: a subclass writes ``log_prob`` and gets everything else.

    ``neighbor_log_ratios`` falls back on ``D (N - 1)`` evaluations of ``log_prob`` per state; where
    the law is local, override it with a closed form. ``energy`` is ``-log_prob`` unless overridden.
    A target that is also a module calls both constructors.

    Example::

        class Product(Target):
            def log_prob(self, x):
                return (0.3 * x).sum(-1)

        Product(length=5, n_states=3).neighbor_log_ratios(torch.zeros(2, 5, dtype=torch.long))

    Raises:
        UserError: ``length < 1`` or ``n_states < 2``.
    """

    length: int
    n_states: int

    def __init__(self, length: int, n_states: int) -> None:
        if length < 1 or n_states < 2:
            raise UserError(
                f"a target needs length >= 1 and n_states >= 2, not {length} and {n_states}"
            )
        self.length = int(length)
        self.n_states = int(n_states)

    def log_prob(self, x: Tensor) -> Tensor:
        """log nu(x) up to one additive constant; (..., D) -> (...), floating point."""
        raise UserError(f"{type(self).__name__} must define log_prob(x): (..., D) -> (...)")

    def energy(self, x: Tensor) -> Tensor:
        """The energy that EW2 and other summaries are taken of; (..., D) -> (...)."""
        return -self.log_prob(x)

    def neighbor_log_ratios(self, x: Tensor) -> Tensor:
        """log nu(x^{d<-n}) - log nu(x), shape (..., D, N), exactly 0 at the current symbol."""
        return generic_neighbor_log_ratios(self.log_prob, x, self.n_states)


def generic_neighbor_log_ratios(
    log_prob: Callable[[Tensor], Tensor], x: Tensor, n_states: int, chunk: int | None = None
) -> Tensor:
    """All one-site log-ratios by brute force, ``chunk`` changed states per call of ``log_prob``.

    By default 4096 of them; on a CPU 1024, so that less of it leaves the cache. ``x`` is
    (..., D); the result is (..., D, N) in the dtype of ``log_prob``. Where nu(x) = 0 the
    ratios are undefined (NaN or inf).
    """
    chunk = chunk or (1024 if x.device.type == "cpu" else 4096)
    flat = x.reshape(-1, x.shape[-1])
    batch, length = flat.shape
    here = log_prob(flat)
    ratios = here.new_zeros(batch, length, n_states)
    per_state = length * (n_states - 1)
    index = torch.arange(batch * per_state, device=x.device)
    for part in index.split(chunk):
        row = part // per_state
        site = part % per_state // (n_states - 1)
        shift = part % (n_states - 1) + 1
        changed = flat[row]
        symbol = (changed.gather(1, site[:, None]).squeeze(1).long() + shift) % n_states
        changed.scatter_(1, site[:, None], symbol[:, None].to(changed.dtype))
        ratios[row, site, symbol] = log_prob(changed) - here[row]
    return ratios.reshape(*x.shape, n_states)


def random_states(
    target: DiscreteTarget, shape: tuple[int, ...], generator: torch.Generator
) -> Tensor:
    """Independent uniform states, ``long`` of shape ``(*shape, D)``, on the generator's device."""
    return torch.randint(
        target.n_states, (*shape, target.length), generator=generator, device=generator.device
    )


def check_states(target: DiscreteTarget, x: Tensor) -> Tensor:
    """Returns ``x`` if it is a batch of states of ``target`` (reads values: not for step loops).

    Raises:
        UserError: wrong dtype, last dimension or symbol.
    """
    if x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
        raise UserError(f"states must be an integer tensor, not {x.dtype}")
    if x.ndim == 0 or x.shape[-1] != target.length:
        raise UserError(f"states must have shape (..., {target.length}), not {tuple(x.shape)}")
    if x.numel() and (int(x.min()) < 0 or int(x.max()) >= target.n_states):
        raise UserError(
            f"states must hold 0..{target.n_states - 1}, found {int(x.min())}..{int(x.max())}"
        )
    return x


def check_bytes(n_states: int) -> None:
    """Raises UserError where symbols do not fit the bytes that states are stored in."""
    if n_states > 256:
        raise UserError(f"states are stored as bytes: at most 256 symbols, not {n_states}")


def _check_of_bytes(target: DiscreteTarget, x: Tensor, log_prob: Tensor) -> None:
    """Chains and samples are kept in bytes, where -1 is 255 and an index is a mask."""
    if target.n_states > 256:
        return
    name, fix = type(target).__name__, "begin with x = x.long()"
    try:
        of_bytes = target.log_prob(x.to(torch.uint8))
    except Exception as error:
        cause = str(error).partition("\n")[0]
        raise UserError(
            f"{name}.log_prob fails on uint8 states, which chains have ({cause}): {fix}"
        ) from None
    # An energy that differs from call to call has another fault.
    if alike(target.log_prob(x), log_prob) and not alike(of_bytes, log_prob):
        raise UserError(
            f"{name}.log_prob gives other numbers for uint8 states, which chains have: differences "
            f"leave the bytes; {fix}"
        )


def alike(a: Tensor, b: Tensor) -> bool:
    """Whether two evaluations of an energy are one: the same shape, and numbers to 0.1 %."""
    return a.shape == b.shape and torch.allclose(a.double(), b.double(), rtol=1e-3, atol=1e-3)


def check_target(target: DiscreteTarget, x: Tensor) -> None:
    """Evaluates a target once at ``x``, before a long run, and says what is wrong with it.

    ``-inf`` is a legal ``log_prob`` at an excluded neighbour, not at ``x`` itself.

    Raises:
        UserError: ``log_prob`` or ``neighbor_log_ratios`` has the wrong shape or type, or is NaN or
            infinite where it must not be; or ``log_prob`` gives other numbers for bytes.
    """
    check_states(target, x)
    name = type(target).__name__
    log_prob = target.log_prob(x)
    if log_prob.shape != x.shape[:-1]:
        raise UserError(
            f"{name}.log_prob must map {tuple(x.shape)} to {tuple(x.shape[:-1])}, "
            f"not {tuple(log_prob.shape)}"
        )
    if not log_prob.is_floating_point():
        raise UserError(f"{name}.log_prob is {log_prob.dtype}: let it end with .float()")
    bad = log_prob.isnan() | (log_prob == torch.inf)
    if bad.any():
        raise UserError(
            f"{name}.log_prob is {log_prob[bad][0].item()} at {int(bad.sum())} of {bad.numel()} "
            "states: it must be finite, or -inf where a state is excluded"
        )
    bad = log_prob == -torch.inf
    if bad.any():
        raise UserError(
            f"{name}.log_prob is -inf at {int(bad.sum())} of {bad.numel()} states to start from: "
            "start from states of positive probability, or make the excluded ones unlikely"
        )
    _check_of_bytes(target, x, log_prob)
    ratios = target.neighbor_log_ratios(x)
    expected = (*x.shape, target.n_states)
    if ratios.shape != expected:
        raise UserError(
            f"{name}.neighbor_log_ratios must have shape {expected}, not {tuple(ratios.shape)}"
        )
    bad = ratios.isnan() | (ratios == torch.inf)
    if bad.any():
        raise UserError(
            f"{name}.neighbor_log_ratios is NaN or +inf at {int(bad.sum())} of {bad.numel()} "
            "neighbours: log_prob must be finite or -inf everywhere"
        )
