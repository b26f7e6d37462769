"""Objectives for energy models p(x) ~ exp(-E(x)) on discrete states."""

from collections.abc import Callable
from typing import Protocol, cast

import torch
from torch import Tensor, nn

from jumpbench.errors import UserError
from jumpbench.samplers.chain import Kernel
from jumpbench.targets.energy_network import EnergyNetwork


class Objective(Protocol):
    """(energy, data (B, D), generator) -> loss; may keep chains between calls."""

    def __call__(self, energy: nn.Module, data: Tensor, generator: torch.Generator) -> Tensor: ...


def contrastive(
    energy: nn.Module, data: Tensor, samples: Tensor, log_weights: Tensor | None = None
) -> Tensor:
    """mean E(data) - sum_k w_k E(samples), w the normalised weights, which get no gradient.

    Its gradient is that of the negative log-likelihood, estimated by self-normalised importance
    sampling.
    """
    if log_weights is None:
        log_weights = torch.zeros(len(samples), device=samples.device)
    weights = log_weights.detach().double().softmax(0)
    model = energy(samples)
    return energy(data).mean() - (weights.to(model.dtype) * model).sum()


class EnergyDiscrepancy:
    """Bernoulli energy discrepancy (Schroeder et al. 2024), which needs no samples of the model.

    Data are perturbed, base = x xor xi with xi ~ Bernoulli(epsilon)^D, and so is the base m times;
    the loss is mean logsumexp over E(x) - E(negative_j), j = 1..m, and log w.

    Args:
        epsilon: flip probability.
        negatives: m.
        w: stabiliser; at 1 it adds a term of 0.

    Raises:
        UserError: an energy of other states than bits, when called.
    """

    def __init__(self, epsilon: float = 0.1, negatives: int = 32, w: float = 1.0) -> None:
        self.epsilon, self.negatives, self.w = epsilon, negatives, w

    def __call__(self, energy: nn.Module, data: Tensor, generator: torch.Generator) -> Tensor:
        _check_bits(energy)

        def flips(*shape: int) -> Tensor:
            u = torch.rand(*shape, generator=generator, device=generator.device)
            return (u < self.epsilon).long()

        base = data.long() ^ flips(*data.shape)
        negatives = base.unsqueeze(1) ^ flips(len(data), self.negatives, data.shape[1])
        contrast = energy(data).unsqueeze(1) - energy(negatives)
        stable = torch.full_like(contrast[:, :1], self.w).log()
        return torch.cat((contrast, stable), 1).logsumexp(1).mean()


class RatioMatching:
    """mean over data of sum_i sigmoid(E(x) - E(x with bit i flipped))^2 (Hyvarinen 2007).

    Raises:
        UserError: an energy of other states than bits, when called.
    """

    def __call__(self, energy: nn.Module, data: Tensor, generator: torch.Generator) -> Tensor:
        _check_bits(energy)
        neighbours = cast(Callable[[Tensor], Tensor], energy.neighbor_differences)
        differences = neighbours(data).sum(-1)  # 0 at the current symbols
        return torch.sigmoid(-differences).square().sum(-1).mean()


class PersistentChains:
    """Persistent contrastive divergence: chains that go on between steps.

    Args:
        kernel: of the Markov chains, at the current energy.
        steps: its steps a training step.
        chains: number of chains, from uniform states.
        magnitude: weight of the mean squared energies of data and chains.
    """

    def __init__(
        self, kernel: Kernel, steps: int = 10, chains: int = 128, magnitude: float = 0.3
    ) -> None:
        self.kernel, self.steps, self.chains = kernel, steps, chains
        self.magnitude = magnitude
        self.states: Tensor | None = None

    def __call__(self, energy: nn.Module, data: Tensor, generator: torch.Generator) -> Tensor:
        law = EnergyNetwork(energy)
        if self.states is None:
            shape = (self.chains, data.shape[1])
            self.states = torch.randint(
                law.n_states, shape, generator=generator, device=generator.device
            )
        self.states, _ = self.kernel(law, self.states, self.steps, generator)
        ours, theirs = energy(data), energy(self.states)
        size = ours.square().mean() + theirs.square().mean()
        return ours.mean() - theirs.mean() + self.magnitude * size


def _check_bits(energy: nn.Module) -> None:
    if (n_states := getattr(energy, "n_states", 2)) != 2:
        raise UserError(f"this objective flips bits, and the energy has {n_states} symbols a site")
