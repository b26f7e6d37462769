"""Figure 8: heat maps of the sampled law of the first two sites."""

from typing import Any


def heatmaps(table: Any, rows: list[str] | None = None, truth: str = "true posterior") -> Any:
    """One column of panels per method, one row per length, the true law first.

    All panels share one colour scale, that of the truth. Cells without samples stay empty;
    None if there is none at all. ``table.artifact(row, column)`` gives ``sampled`` and ``truth``.
    """
    import matplotlib.pyplot as plt

    names = [name for name in table.rows if rows is None or name in rows]
    artifacts = {(r, c): table.artifact(r, c) for r in names for c in table.columns}
    truths = {c: a["truth"] for (_, c), a in artifacts.items() if a is not None}
    if not truths:
        return None
    laws = {(truth, column): law for column, law in truths.items()}
    laws |= {place: a["sampled"] for place, a in artifacts.items() if a is not None}
    scale = max(float(law.max()) for law in truths.values())
    labels = [truth, *(name for name in names if any((name, c) in laws for c in truths))]
    figure, axes = plt.subplots(
        len(table.columns),
        len(labels),
        figsize=(1.3 * len(labels) + 0.4, 1.3 * len(table.columns) + 0.5),
        squeeze=False,
        layout="constrained",
    )
    for i, column in enumerate(table.columns):
        for j, label in enumerate(labels):
            axis = axes[i, j]
            axis.set(xticks=[], yticks=[])
            if (law := laws.get((label, column))) is not None:
                axis.imshow(law.numpy(), origin="lower", vmin=0, vmax=scale, cmap="viridis")
            if i == 0:
                head = label if j == 0 else table.row_head(label)
                axis.set_title(head.replace(" (", "\n("), fontsize=8)
            if j == 0:
                axis.set_ylabel(table.column_head(column), fontsize=9)
    return figure
