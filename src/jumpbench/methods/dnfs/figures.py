"""Figures of the DNFS tables, drawn from the artifacts of their runs."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from jumpbench.data.ising_samples import lattice_couplings
from jumpbench.methods.dnfs.trajectories import WAYS

CURVES = ("slope_std", "integrand_std", "loss", "ess")  # as a default, read from the source
TITLES = {
    "slope_std": r"std of $\partial_t \log \rho_t$",
    "integrand_std": r"std of $\xi_t$",
    "loss": "loss",
    "ess": "effective sample size",
}


def estimators(table: Any, metrics: Sequence[str] = CURVES) -> Any:
    """Curves of the runs of all rows and columns: one panel a quantity (Figures 1, 3, 14, 15).

    Lines are means over the seeds that every row has here, bands their standard deviation.
    """
    import matplotlib.pyplot as plt

    curves_of: dict[str, dict[int, Any]] = {}
    for row in table.rows:
        for column in table.columns:
            name = table.row_head(row)
            if len(table.columns) > 1:
                name += f", {table.column_head(column)}"
            found = table.artifacts(row, column)
            if by_seed := {s: a["curves"] for s, a in found.items() if "curves" in a}:
                curves_of[name] = by_seed
    if not curves_of:
        return None
    common = set.intersection(*map(set, curves_of.values()))
    size = (3.4 * len(metrics), 2.8)
    figure, (axes,) = plt.subplots(1, len(metrics), figsize=size, squeeze=False)
    for axis, metric in zip(axes, metrics, strict=True):
        for label, by_seed in curves_of.items():
            chosen = [curves for seed, curves in by_seed.items() if seed in (common or by_seed)]
            _mean_and_band(axis, label, chosen, metric)
        axis.set(xlabel="steps", title=TITLES.get(metric, metric))
        if metric != "ess":
            _logarithmic(axis)
    title = f"seeds {', '.join(map(str, sorted(common)))}" if len(common) > 1 else None
    axes[0].legend(fontsize=7, title=title, title_fontsize=7)
    figure.tight_layout()
    return figure


def _mean_and_band(axis: Any, label: str, curves: Sequence[Any], metric: str) -> None:
    steps = curves[0]["step"]
    values = torch.stack([torch.as_tensor(each[metric]).double() for each in curves])
    mean = values.mean(0)
    axis.plot(steps, mean, label=label)
    if len(values) > 1:
        spread = values.std(0)
        axis.fill_between(steps, (mean - spread).clamp(min=0.1 * mean), mean + spread, alpha=0.2)


def _logarithmic(axis: Any) -> None:
    """A logarithmic y axis, over less than two decades with the plain marks 1, 2 and 5: matplotlib
    labels every unit of a short axis."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_yscale("log")
    low, high = axis.get_ylim()
    if high < 100 * low:
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter(NullFormatter())


def trajectories(table: Any, row: str, shown: Sequence[float], edge: float = 5.0) -> Any:
    """Points at several times of a row's paths, columns below each other (Figure 17)."""
    import matplotlib.pyplot as plt

    paths = {column: table.artifact(row, column) for column in table.columns}
    paths = {column: a["path_points"] for column, a in paths.items() if a and "path_points" in a}
    if not paths:
        return None
    lines = [(column, way) for column in paths for way in range(len(WAYS))]
    figure, axes = plt.subplots(
        len(lines), len(shown), figsize=(1.3 * len(shown) + 0.6, 1.3 * len(lines)), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for panels, (column, way) in zip(axes, lines, strict=True):
        for axis, t, at in zip(panels, shown, paths[column][:, way].unbind(1), strict=True):
            axis.scatter(*at.T, s=1, alpha=0.3)
            axis.set(xlim=(-edge, edge), ylim=(-edge, edge), xticks=[], yticks=[])
            if (column, way) == lines[0]:
                axis.set_title(f"t = {t:g}", fontsize=8)
        panels[0].set_ylabel(f"{table.column_head(column)}\n{WAYS[way]}", fontsize=7)
    return figure


def points(table: Any, edge: float = 5.0) -> Any:
    """Samples of the plane beside data (Figures 4, 6, 11, 16): panels of methods by columns of the
    table, the more of them across."""
    import matplotlib.pyplot as plt

    clouds = {}
    for row in table.rows:
        for column in table.columns:
            artifact = table.artifact(row, column)
            if artifact and "points" in artifact:
                clouds[row, column] = artifact
    if not clouds:
        return None
    rows, columns = (list(dict.fromkeys(key[i] for key in clouds)) for i in (0, 1))
    names = ["data", *rows]
    down, across = sorted((len(names), len(columns)))
    figure, axes = plt.subplots(down, across, figsize=(2 * across, 2 * down), squeeze=False)
    axes = axes if len(names) == down else axes.T
    for j, column in enumerate(columns):
        for i, name in enumerate(names):
            axis = axes[i][j]
            key = "data_points" if i == 0 else "points"
            artifact = clouds.get((rows[0] if i == 0 else name, column))
            if artifact is not None:
                axis.scatter(*artifact[key].T, s=1, alpha=0.3)
            axis.set(xlim=(-edge, edge), ylim=(-edge, edge), xticks=[], yticks=[], aspect="equal")
            head = f"data, {table.column_head(column)}" if i == 0 else table.row_head(name)
            axis.set_title(head, fontsize=7)
    figure.tight_layout()
    return figure


def couplings(table: Any, row: str, column: str) -> Any:
    """The true, the initial and the learnt coupling matrix in one scale of colours (Figure 7).

    The column's variable ``sigma`` is the true coupling.
    """
    import matplotlib.pyplot as plt

    artifact = table.artifact(row, column)
    if not artifact or "couplings" not in artifact:
        return None
    learnt = artifact["couplings"]
    truth = lattice_couplings(math.isqrt(len(learnt)), table.variables[column]["sigma"])
    panels = {"truth": truth, "before training": artifact["first_couplings"], "learnt": learnt}
    reach = float(truth.abs().max())
    figure, axes = plt.subplots(1, 3, figsize=(9.5, 2.9), layout="constrained")
    for axis, (title, matrix) in zip(axes, panels.items(), strict=True):
        image = axis.imshow(matrix.numpy(), vmin=-reach, vmax=reach, cmap="RdBu_r")
        axis.set(title=title, xlabel="site")
    axes[0].set_ylabel("site")
    figure.colorbar(image, ax=axes, label="$J_{ij}$")
    return figure


def _bins(values: Tensor, most: int = 41) -> list[float]:
    """Edges of bins: between the values where these are few, as on a lattice; else equal ones."""
    every = values.double().unique()
    apart = every.diff() > 1e-4 * (every[-1] - every[0])  # more than rounding
    levels = torch.cat([every[:1], every[1:][apart]])
    last = torch.cat([every[:-1][apart], every[-1:]])  # of those that rounding parts
    few = 2 <= len(levels) <= 4 * most
    if not few or (last - levels).max() > 0.1 * levels.diff().min():
        return torch.linspace(float(every[0]), float(every[-1]) + 1e-6, most).tolist()
    half = float(levels.diff().min()) / 2
    inner = (levels[1:] + levels[:-1]) / 2
    return [float(levels[0]) - half, *inner.tolist(), float(levels[-1]) + half]


def energies(table: Any, rows: list[str] | None = None, reference: str | None = None) -> Any:
    """Histograms of log rho of every row's samples, unweighted, a panel a column (Figs. 5, 13).

    Args:
        rows: those shown; by default all that have samples.
        reference: a row whose histogram is filled, the others being lines. A column in which it
            has no samples is not drawn.
    """
    import matplotlib.pyplot as plt

    samples = {
        column: {
            row: artifact["log_prob"]
            for row in (rows or table.rows)
            if (artifact := table.artifact(row, column)) and "log_prob" in artifact
        }
        for column in table.columns
    }
    samples = {
        column: by_row
        for column, by_row in samples.items()
        if by_row and (reference is None or reference in by_row)
    }
    if not samples:
        return None
    figure, axes = plt.subplots(
        1, len(samples), figsize=(4.6 * len(samples), 3.2), squeeze=False, layout="constrained"
    )
    for axis, (column, by_row) in zip(axes[0], samples.items(), strict=True):
        every = torch.cat(list(by_row.values()))
        bins = _bins(every)
        for row, values in by_row.items():
            filled = row == reference
            look = {"color": "lightgrey"} if filled else {"histtype": "step", "lw": 1.3}
            look |= {"label": table.row_head(row), "zorder": -int(filled)}
            axis.hist(values.numpy(), bins, density=True, **look)
        axis.set(xlabel="log rho", title=table.column_head(column) if len(samples) > 1 else "")
    axes[0][0].set_ylabel("density")
    axes[0][0].legend(fontsize=7, frameon=False)
    return figure
