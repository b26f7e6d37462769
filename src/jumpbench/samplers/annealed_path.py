"""The annealing path from the uniform law to a target, and the residual of rates on it.

The path log p~_t = t log rho + (1 - t) log eta runs from the uniform law eta (normalised, so
Z_0 = 1) at t = 0 to the target rho at t = 1; for a lattice model without constant this is the
linear growth of its coupling. A locally equivariant network gives a flux G(n, i | x), which is the
rate [G]+ of the jump x -> x^{i<-n} and the rate [-G]+ of the way back, read off at x itself:

    xi_t(x) = log rho(x) - log eta(x)
              + sum_{i, n} ( [G(n, i | x)]+ - [-G(n, i | x)]+ exp(t r_{i,n}(x)) )

with r the neighbour log-ratios of rho. For *any* antisymmetric flux its mean under p_t is
d/dt log Z_t, and Kolmogorov's forward equation holds if and only if xi_t(x) is that for all x.
Sources: DNFS (Ou et al. 2025), equations 5 to 8, section 4; LEAPS (Holderrieth et al. 2025).

Targets of graphs hold one law a state, ``graphs`` that the network is given too, and a ``mask`` of
real sites (B, D): padded sites stay 0, do not move, and count nowhere.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from jumpbench.errors import UserError
from jumpbench.ops.precision import at_least_single
from jumpbench.targets.base import DiscreteTarget, check_target, random_states
from jumpbench.targets.tempered import Tempered

Flux = Callable[[Tensor, Tensor], Tensor]
"""States (B, D) and times (B,) -> G (B, D, N), zero at the current symbols."""


def mask_of(target: DiscreteTarget) -> Tensor | None:
    """Real sites (B, D), or None if all are."""
    return getattr(target, "mask", None)


def log_start(target: DiscreteTarget) -> float | Tensor:
    """log eta: minus the number of real sites times log N; a number or (B,)."""
    mask = mask_of(target)
    sites = target.length if mask is None else mask.sum(-1)
    return -sites * math.log(target.n_states)


def start_states(target: DiscreteTarget, n: int, generator: torch.Generator) -> Tensor:
    """Independent states (n, D) of eta; as many as there are laws where each has its own."""
    x = random_states(target, (n,), generator)
    mask = mask_of(target)
    return x if mask is None else x * mask


def flux_of(network: nn.Module, target: DiscreteTarget, x: Tensor, t: Tensor) -> Tensor:
    """G (B, D, N), at least float32 whatever precision the network runs in; one pass."""
    graphs = getattr(target, "graphs", None)
    flux = network(x, t) if graphs is None else network(x, t, graphs)
    return at_least_single(flux)


@torch.no_grad()
def fluxes_of(network: nn.Module, target: DiscreteTarget, n: int) -> Flux:
    """:func:`flux_of` of n states at a time, for many passes without gradients: what the network
    makes of the target's graphs alone (``network.prepared``) is made once."""
    graphs, prepared = getattr(target, "graphs", None), getattr(network, "prepared", None)
    if graphs is None or not callable(prepared):
        return partial(flux_of, network, target)
    made = prepared(graphs, n)
    return lambda x, t: at_least_single(network(x, t, made))


def probability_flow(flux: Tensor, ratios: Tensor, clamp: float | None = None) -> Tensor:
    """sum of [G]+ - [-G]+ exp(r), (B, D, N) twice to (B,): outgoing rate less incoming flow.

    ``ratios`` are those of p_t; ``clamp`` bounds them from above, as in the loss alone.
    """
    if clamp is not None:
        ratios = ratios.clamp(max=clamp)
    return (flux.relu() - incoming_flow(flux, ratios)).sum((-2, -1))


def incoming_flow(flux: Tensor, ratios: Tensor) -> Tensor:
    """[-G]+ exp(r), (B, D, N): the flow into x over p_t(x), and the rates of going back from x."""
    # Where nothing flows in, a ratio that overflows must not become 0 times infinity.
    return (-flux).relu() * ratios.masked_fill(flux >= 0, 0.0).exp()


class Slope(NamedTuple):
    """What a residual needs of the target at states (B, D).

    ``log_prob`` (B,): log rho; ``time`` (B,): d/dt log p~_t = log rho - log eta; ``ratios``
    (B, D, N): those of rho.
    """

    log_prob: Tensor
    time: Tensor
    ratios: Tensor


@torch.no_grad()
def slope_of(target: DiscreteTarget, x: Tensor) -> Slope:
    """Evaluates the target; its parameters get no gradient from a sampler's loss."""
    log_prob = target.log_prob(x)
    return Slope(log_prob, log_prob - log_start(target), target.neighbor_log_ratios(x))


def control_integrand(slope: Slope, t: Tensor, flux: Tensor, clamp: float | None = None) -> Tensor:
    """xi_t(x), (B,); ``t`` (B,)."""
    return slope.time + probability_flow(flux, t[:, None, None] * slope.ratios, clamp)


def residual_generator(
    target: DiscreteTarget, x: Tensor, t: Tensor, flux: Tensor, clamp: float | None = None
) -> Tensor:
    """xi_t(x), (B,), of a positive target: :func:`control_integrand`, evaluating the target."""
    return control_integrand(slope_of(target, x), t, flux, clamp)


class PathLaw(Tempered):
    """p_t of the path at a scalar time, as a target; padded sites never change."""

    def neighbor_log_ratios(self, x: Tensor) -> Tensor:
        ratios = super().neighbor_log_ratios(x)
        mask = mask_of(self.target)
        if mask is None:
            return ratios
        symbol = torch.arange(self.n_states, device=x.device)
        excluded = ~mask[..., None] & (symbol != x[..., None])
        return ratios.masked_fill(excluded, -torch.inf)


def check_positive(target: DiscreteTarget, generator: torch.Generator) -> None:
    """Evaluates a target at 64 uniform states.

    Raises:
        UserError: it is not finite there or at a neighbour: the path needs a positive law.
    """
    mask = mask_of(target)
    x = start_states(target, 64 if mask is None or len(mask) == 1 else len(mask), generator)
    check_target(target, x)
    ratios = target.neighbor_log_ratios(x)
    if not ratios.isfinite().all():
        raise UserError(
            f"{type(target).__name__} excludes {int((~ratios.isfinite()).sum())} of "
            f"{ratios.numel()} neighbours (log_prob = -inf): an annealing path from the uniform "
            "law needs a law that is positive everywhere; give such states a finite penalty"
        )
