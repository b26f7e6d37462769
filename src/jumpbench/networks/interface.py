"""What a sampler asks of its network, checked on a few states before it trains."""

import copy

import torch
from torch import Tensor, nn

from jumpbench.errors import UserError

TOLERANCE = 0.05
"""Of the largest flux: far above rounding in bfloat16, far below a network that is not made so."""


def check_scores(network: nn.Module, x: Tensor, n_states: int, timed: bool = True) -> None:
    """Refuses a network that does not give scores (B, D, N) of states ``x`` (B, D) and, if
    ``timed``, times (B,).

    A copy is asked, so that neither statistics nor random numbers of the run change.

    Raises:
        UserError: the network cannot be called so, or returns something else.
    """
    _scores(copy.deepcopy(network).eval(), x, n_states, timed)


@torch.no_grad()
def check_flux(network: nn.Module, x: Tensor, n_states: int) -> None:
    """Refuses a network without ``F_t(x)[i, n] = -F_t(x^{i<-n})[i, x^i]``.

    It is tried at one neighbour of each state (B, D), and with noise on a copy's weights: it must
    hold for all, and networks often start at zero.

    Raises:
        UserError: it does not hold, or as :func:`check_scores`.
    """
    network = copy.deepcopy(network).eval()
    noise = torch.Generator().manual_seed(0)
    for weight in network.parameters():
        weight.add_(0.1 * torch.randn(weight.shape, generator=noise).to(weight))
    row = torch.arange(len(x), device=x.device)
    site = row % x.shape[1]
    symbol = x[row, site]
    other = (symbol + 1) % n_states
    neighbour = x.clone()
    neighbour[row, site] = other
    there = _scores(network, x, n_states)[row, site, other]
    back = _scores(network, neighbour, n_states)[row, site, symbol]
    largest = torch.maximum(there.abs(), back.abs()).max()
    if ((there + back).abs() > TOLERANCE * largest).any():
        raise UserError(
            f"network {type(network).__name__} is not locally equivariant: F(x)[i, n] must be "
            "-F(y)[i, x_i] for y = x with symbol n at site i, or weights and log Z are wrong; "
            "jumpbench.networks.LocallyEquivariantPerceptron is"
        )


@torch.no_grad()
def _scores(network: nn.Module, x: Tensor, n_states: int, timed: bool = True) -> Tensor:
    times = (torch.linspace(0.1, 0.9, len(x), device=x.device),) if timed else ()
    given = f"states {tuple(x.shape)}" + f" and times ({len(x)},)" * timed
    name, wanted = type(network).__name__, (*x.shape, n_states)
    try:
        scores = network(x, *times)
    except Exception as error:
        why = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UserError(f"network {name} stops at {given}: {why}") from error
    found = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
    if found != wanted:
        raise UserError(f"network {name} must take {given} to {wanted}, not to {found}")
    return scores
