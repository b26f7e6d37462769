"""Locally equivariant networks: one pass gives the flux towards, and from, every neighbour.

A network ``F`` of a state and a time is locally equivariant (LEAPS, Holderrieth et al. 2025) if

    F_t(x)[i, n] = -F_t(x^{i<-n})[i, x^i]     for every site i and symbol n,

so the rates *into* ``x`` are read off at ``x`` itself: ``relu(-F_t(x)[i, n])`` is the rate of the
jump back from ``x^{i<-n}``. Both networks here compute hollow features ``H[i]`` that do not see
``x^i`` and read out

    F_t(x)[i, n] = c(t) <w[n] - w[x^i], H_t(x)[i]>,   c(t) = 1 + t, or 1,

which is antisymmetric for any number of symbols ``N``, and zero at ``n = x^i``.
For ``N = 2`` the readout is ``x^i`` (as a spin) times a linear form, as in the original.

Both take states (B, D) of integers ``0..N-1`` and times (B,), and return (B, D, N).
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from jumpbench.networks.lattice_transformer import lattice_size


class AntisymmetricReadout(nn.Module):
    """``<w[n] - w[x^i], H[i]>``, times ``1 + t`` if it is ``growing``.

    ``w`` is (N, C) with variance ``scale^2 / (2 C)``: at ``scale = 1`` the binary case's
    ``w[1] - w[0]`` has variance ``1 / C``, as the weights of the spin network have that it stands
    for.
    """

    def __init__(
        self, n_states: int, channels: int, scale: float = 1.0, growing: bool = True
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_states, channels) * scale / (2 * channels) ** 0.5)
        self.growing = growing

    def forward(self, x: Tensor, t: Tensor, hollow: Tensor) -> Tensor:
        """``x`` (B, D), ``t`` (B,), ``hollow`` (B, D, C) to (B, D, N)."""
        score = hollow @ self.weight.T
        score = score - score.gather(-1, x.unsqueeze(-1))
        return (1 + t)[:, None, None] * score if self.growing else score


class HollowConvolution(nn.Module):
    """Circular convolution (B, C', L, L) to (B, C, L, L) of all channels, whose centre weighs 0.

    ``weight`` (C, C', k, k), initially uniform within ``1 / (k sqrt(C'))``, as torch's own.
    """

    keep: Tensor

    def __init__(self, inputs: int, channels: int, kernel_size: int) -> None:
        super().__init__()
        bound = 1 / (kernel_size * inputs**0.5)
        shape = (channels, inputs, kernel_size, kernel_size)
        self.weight = nn.Parameter(torch.empty(shape).uniform_(-bound, bound))
        self.register_buffer("keep", off_centre(kernel_size), persistent=False)

    def forward(self, values: Tensor) -> Tensor:
        padded = padded_circularly(values, self.keep.shape[-1])
        return functional.conv2d(padded, self.weight * self.keep)


class OffCentreConvolution(nn.Module):
    """Circular depthwise convolution with weights of every site's own, whose centre weighs 0.

    ``kernels`` (B, C, k*k, D) are the weights, ``values`` (B, C or 1, L, L) the summands.
    """

    keep: Tensor

    def __init__(self, kernel_size: int) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.register_buffer("keep", off_centre(kernel_size).flatten(), persistent=False)

    def forward(self, values: Tensor, kernels: Tensor) -> Tensor:
        batch, channels, size, _ = values.shape
        patches = functional.unfold(padded_circularly(values, self.kernel_size), self.kernel_size)
        patches = patches.view(batch, channels, self.kernel_size**2, size * size)
        return (kernels * patches * self.keep[:, None]).sum(2)


def off_centre(kernel_size: int) -> Tensor:
    """Ones (k, k) with 0 in the middle."""
    keep = torch.ones(kernel_size, kernel_size)
    keep[kernel_size // 2, kernel_size // 2] = 0
    return keep


def padded_circularly(values: Tensor, kernel_size: int) -> Tensor:
    """(..., L, L) with what a kernel reads beyond the edges of a torus."""
    pad = kernel_size // 2
    return functional.pad(values, (pad, pad, pad, pad), mode="circular")


class DynamicKernels(nn.Module):
    """Weights of the next layer at every site, made from that site's hollow features.

    ``kappa[c, o] = silu(sum_c' A[c, o, c'] silu(h[c']) + b1[c, o]) + b2[c, o] + m[o](t)``
    with a small perceptron ``m`` of the time that all channels share. Initially ``A k``, ``b1`` and
    ``b2`` are uniform within 0 and ``bound``.
    """

    def __init__(
        self, channels: int, kernel_size: int, time_hidden: int = 64, bound: float = 0.2
    ) -> None:
        super().__init__()
        offsets = kernel_size**2
        self.mix = nn.Parameter(torch.rand(channels, offsets, channels) * bound / kernel_size)
        self.inner_bias = nn.Parameter(torch.rand(channels, offsets, 1) * bound)
        self.outer_bias = nn.Parameter(torch.rand(channels, offsets, 1) * bound)
        self.time = nn.Sequential(
            nn.Linear(1, time_hidden),
            nn.SiLU(),
            nn.Linear(time_hidden, time_hidden),
            nn.SiLU(),
            nn.Linear(time_hidden, offsets),
        )

    def forward(self, hollow: Tensor, t: Tensor) -> Tensor:
        """``hollow`` (B, C, D), ``t`` (B,) to (B, C, k*k, D)."""
        mixed = torch.einsum("cok,bkd->bcod", self.mix, functional.silu(hollow))
        kernels = functional.silu(mixed + self.inner_bias) + self.outer_bias
        return kernels + self.time(t[:, None])[:, None, :, None]


class LocallyEquivariantConvolution(nn.Module):
    """The convolutional network of LEAPS on a periodic ``L x L`` lattice (row-major sites).

    A symbol has values at its site: the spin ``2x - 1`` for ``N = 2``, else a learned embedding of
    ``channels`` numbers and of norm 1 at most. The first layer convolves ``(1 + t)`` times them,
    all channels with all, with static kernels without centre; each further layer convolves the raw
    values again, with kernels that depend on the hollow features of the site
    (:class:`DynamicKernels`). No layer reads the centre, so the features of a site stay free of its
    symbol whatever the depth. The readout grows as ``1 + t`` for ``N = 2`` alone.

    All this is as released, initial values too, those of spins as in the releases for spins alone.
    Exceptions: the released first layer pads with zeros although it is declared circular (here it
    is circular); embeddings are held to their norm whenever the network is called, all of them and
    not only those that occur (processes of a distributed run must not drift apart), and their
    gradient is not divided by how often they occur, which Adam would undo.

    Raises:
        ValueError: ``length`` is no square; a kernel is even, or larger than the lattice (it would
            wrap onto the centre).
    """

    def __init__(
        self,
        length: int,
        n_states: int,
        channels: int = 20,
        kernel_sizes: Sequence[int] = (3, 5, 7, 9, 15),
        readout_scale: float = 1.0,
    ) -> None:
        super().__init__()
        size = lattice_size(length)
        for kernel_size in kernel_sizes:
            if kernel_size % 2 == 0 or kernel_size > size:
                raise ValueError(
                    f"kernel size {kernel_size} must be odd and at most the lattice size {size}; "
                    "choose smaller kernel_sizes"
                )
        self.size = size
        first, *rest = kernel_sizes
        spins = n_states == 2
        if spins:
            self.register_buffer("symbols", torch.tensor([[-1.0], [1.0]]))
        else:
            self.symbols = nn.Parameter(torch.randn(n_states, channels) / channels**0.5)
        self.first = HollowConvolution(self.symbols.shape[1], channels, first)
        bound = 0.2 if spins else 0.002
        self.kernels = nn.ModuleList(DynamicKernels(channels, k, bound=bound) for k in rest)
        self.convolutions = nn.ModuleList(OffCentreConvolution(k) for k in rest)
        # More symbols: weights of variance 1 / C times 0.02.
        scale = readout_scale if spins else 0.02 * 2**0.5 * readout_scale
        self.readout = AntisymmetricReadout(n_states, channels, scale, growing=spins)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        x = x.long()
        if isinstance(self.symbols, nn.Parameter):
            with torch.no_grad():
                self.symbols.renorm_(2, 0, 1.0)
        values = self.symbols[x].transpose(1, 2).unflatten(-1, (self.size, self.size))
        hollow = self.first((1 + t)[:, None, None, None] * values).flatten(2)
        for kernels, convolution in zip(self.kernels, self.convolutions, strict=True):
            hollow = convolution(values, kernels(hollow, t))
        return self.readout(x, t, hollow.transpose(1, 2))


class LocallyEquivariantPerceptron(nn.Module):
    """A hollow perceptron for any state space, without a lattice.

    Every site has its own linear map of the one-hot symbols of all *other* sites and of time
    features; what follows acts on each site alone, so hollowness survives any depth. The first
    layer holds ``D^2 N hidden`` weights: meant for small ``D``.
    """

    keep: Tensor
    frequencies: Tensor

    def __init__(
        self,
        length: int,
        n_states: int,
        hidden: int = 64,
        depth: int = 2,
        n_frequencies: int = 8,
        readout_scale: float = 1.0,
    ) -> None:
        super().__init__()
        self.n_states = n_states
        std = 1 / math.sqrt(max(length - 1, 1))
        self.weight = nn.Parameter(torch.randn(length, n_states, length, hidden) * std)
        self.bias = nn.Parameter(torch.zeros(length, hidden))
        self.register_buffer("keep", 1 - torch.eye(length)[:, None, :, None], persistent=False)
        self.register_buffer("frequencies", torch.pi * torch.arange(n_frequencies) / 2)
        self.time = nn.Linear(2 * n_frequencies, hidden)
        layers: list[nn.Module] = []
        for _ in range(depth - 1):
            layers += [nn.SiLU(), nn.Linear(hidden, hidden)]
        self.layers = nn.Sequential(*layers, nn.SiLU())
        self.readout = AntisymmetricReadout(n_states, hidden, readout_scale)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        x = x.long()
        symbols = functional.one_hot(x, self.n_states).to(t.dtype)
        angles = t[:, None] * self.frequencies
        clock = self.time(torch.cat((angles.cos(), angles.sin()), -1))
        weight = (self.weight * self.keep).flatten(2).flatten(0, 1)
        hidden = (symbols.flatten(1) @ weight).unflatten(-1, self.bias.shape)
        hidden = self.layers(hidden + self.bias + clock.unsqueeze(1))
        return self.readout(x, t, hidden)
