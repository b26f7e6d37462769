"""Plain perceptrons on a flat discrete state: small stand-ins for the lattice transformers."""

import itertools
import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class StatePerceptron(nn.Module):
    """(B, D) integers, and optionally t (B,) in [0, 1] -> (B, D, N) float32 log-ratios.

    Reads every site as a one-hot vector with entries -1 and 1, and the time as t, cos(pi k t) and
    sin(pi k t), k = 1..harmonics. ``harmonics=None`` makes the time-free network.
    ``n_inputs`` symbols can be read (one more than ``n_states`` where there is a mask symbol).
    """

    def __init__(
        self,
        length: int,
        n_states: int,
        hidden: int = 128,
        layers: int = 2,
        harmonics: int | None = 16,
        n_inputs: int | None = None,
    ) -> None:
        super().__init__()
        self.length, self.n_states, self.harmonics = length, n_states, harmonics
        self.n_inputs = n_inputs or n_states
        time_features = 0 if harmonics is None else 2 * harmonics + 1
        widths = [length * self.n_inputs + time_features, *[hidden] * layers]
        steps: list[nn.Module] = []
        for fan_in, fan_out in itertools.pairwise(widths):
            steps += [nn.Linear(fan_in, fan_out), nn.SiLU()]
        self.net = nn.Sequential(*steps, nn.Linear(widths[-1], length * n_states))

    def forward(self, x: Tensor, t: Tensor | None = None) -> Tensor:
        features = [2 * F.one_hot(x, self.n_inputs).flatten(1).float() - 1]
        if self.harmonics is not None:
            if t is None:
                raise ValueError("this network reads the time: give t, or make it harmonics=None")
            angles = (
                math.pi * t.unsqueeze(-1) * torch.arange(1, self.harmonics + 1, device=t.device)
            )
            features += [t.unsqueeze(-1), angles.cos(), angles.sin()]
        out = self.net(torch.cat(features, dim=-1))
        return out.float().unflatten(-1, (self.length, self.n_states))
