"""Figures of the process itself: observation times (Fig. 4), one site forward and back (Fig. 2)."""

from collections.abc import Sequence
from typing import Any

import torch

from jumpbench.methods.blackout.enumeration import EnumeratedCounts
from jumpbench.processes.observation_times import FisherTimes


def observation_times(table: Any, steps: int = 1000, last: float = 15.0) -> Any:
    """Fig. 4: t_k against k on a linear and a logarithmic axis, with log 2 dashed."""
    import matplotlib.pyplot as plt

    grid = FisherTimes(steps, last)
    figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    for axis, scale in zip(axes, ("linear", "log"), strict=True):
        axis.plot(range(1, steps + 1), grid.times[1:].numpy())
        axis.axhline(torch.log(torch.tensor(2.0)), ls="--", color="grey", lw=1)
        axis.set(xlabel="k", ylabel="$t_k$", yscale=scale)
    return figure


def one_site(
    table: Any, law: Sequence[float], steps: int = 1000, paths: int = 5, seed: int = 0
) -> Any:
    """Fig. 2b: the marginal of one site at every time, and paths forward and back.

    Backwards every step draws X_0 from its posterior and then the bridge, so that the two laws
    agree. The paper gives neither law nor starting values: the law is an argument.
    """
    import matplotlib.pyplot as plt

    counts, grid = EnumeratedCounts(law), FisherTimes(steps)
    marginals = torch.stack([counts.marginal(grid, k) for k in range(1, steps + 1)])
    generator = torch.Generator().manual_seed(seed)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
    for axis, title, walked in (
        (axes[0], "forward", _forward(counts, grid, paths, generator)),
        (axes[1], "reverse", _reverse(counts, grid, paths, generator)),
    ):
        axis.imshow(
            marginals.T.sqrt().numpy(), origin="lower", aspect="auto", cmap="Blues",
            extent=(1, steps, -0.5, counts.maximum + 0.5),
        )  # fmt: skip
        axis.plot(range(1, steps + 1), walked.numpy(), lw=1)
        axis.set(title=title, xlabel="k", ylabel="$X_{t_k}$")
    axes[1].invert_xaxis()
    return figure


def _forward(
    counts: EnumeratedCounts, grid: FisherTimes, paths: int, generator: torch.Generator
) -> torch.Tensor:
    """Paths (T, paths) of the death process at t_1 .. t_T."""
    x = torch.multinomial(counts.law, paths, replacement=True, generator=generator).float()
    walked = []
    for k in range(1, grid.steps + 1):
        alive = torch.exp(grid.times[k - 1] - grid.times[k]).float()
        x = torch.binomial(x, alive.expand(paths).contiguous(), generator=generator)
        walked.append(x)
    return torch.stack(walked)


def _reverse(
    counts: EnumeratedCounts, grid: FisherTimes, paths: int, generator: torch.Generator
) -> torch.Tensor:
    """Paths (T, paths) of the reversed process at t_1 .. t_T, from zero at t_T."""
    revival = grid.revival()
    x, walked = torch.zeros(paths), [torch.zeros(paths)]
    for k in range(grid.steps, 1, -1):
        posterior = counts.posterior(grid, k)[x.long()]
        start = torch.multinomial(posterior, 1, generator=generator).squeeze(1).float()
        r = revival[k].float().expand(paths).contiguous()
        x = x + torch.binomial(start - x, r, generator=generator)
        walked.append(x)
    return torch.stack(walked[::-1])
