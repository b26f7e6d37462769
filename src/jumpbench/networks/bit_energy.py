"""The energy network of the 32-bit densities (DNFS, appendix D.2; energy discrepancy)."""

import torch
from torch import Tensor, nn


class Swish(nn.Module):
    """x sigmoid(beta x) with one learnt beta."""

    def __init__(self) -> None:
        super().__init__()
        self.beta = nn.Parameter(torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(self.beta * x)


class BitEnergy(nn.Module):
    """E(x): (..., D) -> (...); sites embedded alike, then three hidden layers.

    All energies at one changed site come from one pass over rank-one changes of the first layer,
    without its matrix product.

    Args:
        length: D.
        n_states: N.
        embedding: numbers a site.
        hidden: width.
    """

    def __init__(
        self, length: int, n_states: int = 2, embedding: int = 4, hidden: int = 256
    ) -> None:
        super().__init__()
        self.length, self.n_states = length, n_states
        self.embed = nn.Linear(n_states, embedding)
        swish = Swish()  # one beta for all layers
        self.first = nn.Linear(length * embedding, hidden)
        self.rest = nn.Sequential(
            swish, nn.Linear(hidden, hidden), swish, nn.Linear(hidden, hidden), swish,
            nn.Linear(hidden, 1),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return self.rest(self._enter(x)).squeeze(-1)

    def of_one_hot(self, z: Tensor) -> Tensor:
        """E of one-hot states (B, D, N), differentiable in them."""
        return self.rest(self.first(self.embed(z).flatten(-2))).squeeze(-1)

    def _enter(self, x: Tensor) -> Tensor:
        tokens = self.embed.weight.T + self.embed.bias
        return self.first(tokens[x.long()].flatten(-2))

    def neighbor_differences(self, x: Tensor) -> Tensor:
        """E(x^{i<-n}) - E(x), (B, D) -> (B, D, N); of N = 2, the other symbol alone is evaluated.

        Exactly 0 at the current symbols.
        """
        x = x.long()
        here = self._enter(x)
        weight = self.first.weight.unflatten(1, (self.length, -1))  # (h, D, e)
        effect = torch.einsum("hde,en->dnh", weight, self.embed.weight)  # (D, N, h)
        current = effect[torch.arange(self.length, device=x.device), x]  # (B, D, h)
        energy = self.rest(here).squeeze(-1)
        differences = here.new_zeros(*x.shape, self.n_states)
        for shift in range(1, self.n_states):
            symbol = (x + shift) % self.n_states
            moved = effect[torch.arange(self.length, device=x.device), symbol] - current
            there = self.rest(here.unsqueeze(-2) + moved).squeeze(-1)
            change = (there - energy.unsqueeze(-1)).unsqueeze(-1)
            differences = differences.scatter(-1, symbol.unsqueeze(-1), change)
        return differences
