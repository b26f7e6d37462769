"""Figures of the process itself: noised images (Figs. 1, 5), one site forward and back (Fig. 2),
observation times (Fig. 4)."""

from collections.abc import Sequence
from typing import Any

import torch

from jumpbench.methods.blackout.enumeration import EnumeratedCounts
from jumpbench.methods.blackout.gaussian import CosineDiffusion, DequantisedLaw
from jumpbench.methods.common.pictures import tiled, white
from jumpbench.processes.death import PureDeath
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
    counts, grid = EnumeratedCounts(law), FisherTimes(steps)
    marginals = torch.stack([counts.marginal(grid, k) for k in range(1, steps + 1)])
    generator = torch.Generator().manual_seed(seed)
    walks = _forward(counts, grid, paths, generator), _reverse(counts, grid, paths, generator)
    return _forth_and_back(marginals, walks, (-0.5, counts.maximum + 0.5), "$X_{t_k}$")


def one_gaussian_site(
    table: Any, law: Sequence[float], steps: int = 1000, paths: int = 5, seed: int = 0
) -> Any:
    """Fig. 2a: as :func:`one_site`, for Gaussian diffusion of the same counts, dequantised.

    Backwards by ancestral steps with the exact E[X_0 | X_k].
    """
    diffusion = CosineDiffusion(steps)
    spread, generator = DequantisedLaw(law, diffusion), torch.Generator().manual_seed(seed)
    levels = torch.linspace(-2.5, 2.5, 200, dtype=torch.float64)
    densities = torch.stack([spread.density(levels, k) for k in range(1, steps + 1)])
    x = spread.sample(paths, generator)
    forward = []
    for k in range(1, steps + 1):
        beta = diffusion.beta[k]
        noise = torch.randn(paths, generator=generator, dtype=torch.float64)
        x = (1 - beta).sqrt() * x + beta.sqrt() * noise
        forward.append(x)
    reverse = [torch.randn(paths, generator=generator, dtype=torch.float64)]
    for k in range(steps, 1, -1):
        x = reverse[-1]
        reverse.append(diffusion.back(x, spread.start(x, k), k, generator))
    walks = torch.stack(forward), torch.stack(reverse[::-1])
    return _forth_and_back(densities.clamp(max=1.0), walks, (-2.5, 2.5), "$X_k$")


def _forth_and_back(
    marginals: torch.Tensor, walks: tuple[torch.Tensor, torch.Tensor],
    levels: tuple[float, float], label: str,
) -> Any:  # fmt: skip
    """Laws (T, levels) at k = 1..T as shades, under walks (T, paths) forward and back."""
    import matplotlib.pyplot as plt

    steps = len(marginals)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
    for axis, title, walked in zip(axes, ("forward", "reverse"), walks, strict=True):
        axis.imshow(
            marginals.T.sqrt().numpy(), origin="lower", aspect="auto", cmap="Blues",
            extent=(1, steps, *levels),
        )  # fmt: skip
        axis.plot(range(1, steps + 1), walked.numpy(), lw=1)
        axis.set(title=title, xlabel="k", ylabel=label, ylim=levels)
    axes[1].invert_xaxis()
    return figure


def noised_image(
    table: Any, row: str, column: str, number: int = 0, stretched: bool = False, seed: int = 0
) -> Any:
    """Figs. 1 and 5: one image at k = 1, 125, 250, ..., 1000, by Gaussian noise and by deaths.

    Fig. 1 is ``stretched``: every picture from its darkest to its brightest value. The image is
    one of a row's artifacts; without them, no figure.
    """
    import matplotlib.pyplot as plt

    artifact = table.artifact(row, column)
    if artifact is None or "images" not in artifact:
        return None
    image = artifact["images"][number]
    maximum = white(artifact["images"])
    generator = torch.Generator().manual_seed(seed)
    diffusion, death, grid = CosineDiffusion(1000), PureDeath(maximum), FisherTimes(1000)
    visited = [1, *range(125, 1001, 125)]
    centred = 2 * image.double() / maximum - 1
    gaussian = [(diffusion.noised(centred, k, generator) + 1) / 2 for k in visited]
    counts = [death.sample(image.long(), float(grid.times[k]), generator) for k in visited]
    pictures = torch.stack([*gaussian, *(count.double() / maximum for count in counts)])
    if stretched:
        low, high = (f(pictures, (1, 2, 3), keepdim=True) for f in (torch.amin, torch.amax))
        pictures = (pictures - low) / (high - low).clamp(min=1e-9)
    figure, axis = plt.subplots(figsize=(len(visited), 2.4), layout="constrained")
    page = tiled((255 * pictures.clamp(0, 1)).long(), len(visited), maximum=255)
    axis.imshow(page.numpy(), interpolation="nearest")
    height, width = page.shape[0] / 2, page.shape[1] / len(visited)  # with a border behind each
    axis.set_xticks(
        [(i + 0.5) * width - 1 for i in range(len(visited))], [f"k = {k}" for k in visited]
    )
    axis.set_yticks([height / 2 - 1, 1.5 * height - 1], ["Gaussian", "Blackout"])
    axis.tick_params(length=0, labelsize=8)
    axis.spines[:].set_visible(False)
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
