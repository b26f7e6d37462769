"""Figures of the DNFS tables, drawn from the artifacts of their runs."""

from typing import Any

CURVES = ("slope_std", "integrand_std", "loss", "ess")


def estimators(table: Any, metrics: tuple[str, ...] = CURVES):
    """Curves of the runs of all rows and columns: one panel a quantity (Figures 1, 3, 14, 15)."""
    import matplotlib.pyplot as plt

    found = {}
    for row in table.rows:
        for column in table.columns:
            artifact = table.artifact(row, column)
            if artifact and "curves" in artifact:
                found[row if len(table.columns) == 1 else f"{row}, {column}"] = artifact["curves"]
    if not found:
        return None
    figure, axes = plt.subplots(1, len(metrics), figsize=(3.4 * len(metrics), 2.8))
    for axis, metric in zip(axes, metrics, strict=True):
        for label, curves in found.items():
            axis.plot(curves["step"], curves[metric], label=label)
        axis.set(xlabel="steps", title=metric.replace("_", " "))
        if metric != "ess":
            axis.set_yscale("log")
    axes[0].legend(fontsize=7)
    figure.tight_layout()
    return figure


def points(table: Any, edge: float = 5.0):
    """Samples of the plane beside data, a row of panels a method (Figures 4, 6, 11, 16)."""
    import matplotlib.pyplot as plt

    found = {}
    for row in table.rows:
        for column in table.columns:
            artifact = table.artifact(row, column)
            if artifact and "points" in artifact:
                found[row, column] = artifact
    if not found:
        return None
    rows, columns = (list(dict.fromkeys(key[i] for key in found)) for i in (0, 1))
    names = ["data", *rows]
    figure, axes = plt.subplots(
        len(names), len(columns), figsize=(2 * len(columns), 2 * len(names)), squeeze=False
    )
    for j, column in enumerate(columns):
        for i, name in enumerate(names):
            axis = axes[i][j]
            key = "data_points" if i == 0 else "points"
            artifact = found.get((rows[0] if i == 0 else name, column))
            if artifact is not None:
                axis.scatter(*artifact[key].T, s=1, alpha=0.3)
            axis.set(xlim=(-edge, edge), ylim=(-edge, edge), xticks=[], yticks=[])
            axis.set_title(f"{name}, {column}" if i == 0 else name, fontsize=7)
    figure.tight_layout()
    return figure
