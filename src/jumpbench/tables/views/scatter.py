"""The figure of one metric against another, every point with its name beside it."""

from collections.abc import Sequence
from typing import Any

from jumpbench.tables.views.filled import Filled

# In points from the point that is named, the nearest first.
_OFFSETS = [
    (right * side, up * above)
    for right, up in ((4, 4), (0, 12), (14, 14), (4, 24), (0, 24), (30, 14))
    for above in (1, -1)
    for side in (1, -1)
]


def scatter(filled: Filled, x: str, y: str, rows: Sequence[str] | None = None) -> Any:
    """One metric against another: a point per cell, named by its column, a line per row."""
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(4.6, 3.4), layout="constrained")
    named: list[tuple[tuple[float, float], str]] = []
    for number, row in enumerate(rows or filled.rows):
        places = [(filled.value(row, c, x), filled.value(row, c, y), c) for c in filled.columns]
        points = [place for place in places if None not in place]
        if not points:
            continue
        xs, ys, columns = zip(*points, strict=True)
        axis.plot(xs, ys, "o-", ms=4, lw=1, color=f"C{number}", label=filled.row_head(row))
        heads = [filled.column_head(column) for column in columns]
        named += zip(zip(xs, ys, strict=True), heads, strict=True)
    if not named:
        plt.close(figure)
        return None
    for name, of in (("xlabel", x), ("ylabel", y)):
        axis.set(**{name: filled.table.metrics[of].label or of})
    axis.legend(fontsize=8, frameon=False)
    axis.grid(alpha=0.3)
    axis.margins(0.12)
    _name(axis, named)
    return figure


def _name(axis: Any, named: Sequence[tuple[tuple[float, float], str]]) -> None:
    """Write names beside their points, each where it covers no point and no other name.

    The nearest place that is free and within the axes; without one, the first of all.
    """
    from matplotlib.transforms import Bbox

    axis.figure.draw_without_rendering()  # places in pixels are known from here on
    pixels = axis.transData.transform([at for at, _ in named])
    # A name nearer than this to another point would be read as its name.
    points = [Bbox.from_extents(u - 10, v - 10, u + 10, v + 10) for u, v in pixels]
    frame = axis.get_window_extent()
    written: list[Any] = []
    for k, (at, name) in enumerate(named):
        taken = [*points[:k], *points[k + 1 :], *written]
        texts = []
        for dx, dy in _OFFSETS:
            text = axis.annotate(
                name,
                at,
                xytext=(dx, dy),
                textcoords="offset points",
                ha="left" if dx > 0 else "right" if dx < 0 else "center",
                va="bottom" if dy > 0 else "top",
                fontsize=7,
            )
            texts.append(text)
            box = text.get_window_extent()
            inside = frame.contains(box.x0, box.y0) and frame.contains(box.x1, box.y1)
            if inside and not any(box.overlaps(other) for other in taken):
                break
        else:
            text = texts[0]
        for other in texts:
            if other is not text:
                other.remove()
        written.append(text.get_window_extent())
