"""Sequences with hidden positions: inpainting of images, infilling of melodies."""

import torch
from torch import Tensor

from jumpbench.data.tokens import Batch
from jumpbench.errors import UserError
from jumpbench.methods.sgdd.likelihoods import SiteLikelihood, check_sigma


def random_mask(length: int, hidden: float, seed: int = 0) -> Tensor:
    """Bool (D,), True where observed: each position is hidden with probability ``hidden``.

    One uniform number per position after ``seed``, the same for all sequences (paper's code).

    Raises:
        UserError: a share outside [0, 1].
    """
    if not 0 <= hidden <= 1:
        raise UserError(f"hidden={hidden}: the share of hidden positions lies in [0, 1]")
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(length, generator=generator) < 1 - hidden


def box_mask(side: int, rows: tuple[int, int], columns: tuple[int, int]) -> Tensor:
    """Bool (side^2,), False in the box of rows first..last and columns first..last.

    Raises:
        UserError: a box that is empty or leaves the image.
    """
    for name, (first, last) in (("rows", rows), ("columns", columns)):
        if not 0 <= first <= last < side:
            raise UserError(f"{name} {first} to {last} are no box in an image of side {side}")
    observed = torch.ones(side, side, dtype=torch.bool)
    observed[rows[0] : rows[1] + 1, columns[0] : columns[1] + 1] = False
    return observed.flatten()


class InfillProblem:
    """The observed positions of each sequence of a batch are known, up to sigma.

    Args:
        observed: mask (D,), True where observed.
        n_states: N.
        sigma: noise scale; 1e-4 is 10,000 nats per wrong position (paper's code).

    Raises:
        UserError: sigma not positive.
    """

    def __init__(self, observed: Tensor, n_states: int, sigma: float = 1e-4) -> None:
        check_sigma(sigma, UserError)
        self.observed, self.n_states, self.sigma = observed, n_states, sigma
        self.length = len(observed)

    def likelihood(self, batch: Batch) -> SiteLikelihood:
        states = batch["states"]
        mask = self.observed.to(states.device)
        return SiteLikelihood.infill(states, mask, self.n_states, self.sigma)

    def n_chains(self, batch: Batch) -> int:
        return len(batch["states"])
