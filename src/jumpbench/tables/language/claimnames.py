"""What the check of a claim names must exist in its table, and the check must make sense."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from jumpbench.tables.language.checks import CellRef
from jumpbench.tables.language.types import Table


class CheckNames:
    """What the check of one claim names.

    Args:
        table: of the claim.
        known: names of rows, columns and metrics, by these kinds.
        wrong: what to raise, given the words for it.
    """

    def __init__(
        self, table: Table, known: Mapping[str, Sequence[str]], wrong: Callable[[str], Exception]
    ) -> None:
        self.table, self.known, self.wrong = table, known, wrong

    def refer(self, kind: str, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.known[kind]:
                raise self.wrong(f"there is no {kind} '{name}'")

    def check(self, kind: str, at: Any) -> None:
        """Raises ``wrong(what)`` for the first name of a check of this kind that does not exist."""
        if kind in ("compare", "within"):
            self._sides(kind, at)
            return
        rows = {
            "best": lambda: (at.row, *at.among), "order": lambda: at.rows,
            "trend": lambda: at.rows, "u_shaped": lambda: at.rows,
            "same_best": lambda: at.rows,
            "falls_behind": lambda: (at.row, at.behind),
        }[kind]()  # fmt: skip
        self.refer("row", rows)
        self.refer("metric", at.named_metrics)
        self.refer("column", at.named_columns)
        if kind in ("trend", "falls_behind") and not at.named_metrics:
            raise self.wrong(f"'{kind}' lacks 'metric'")
        needed = {"trend": 2, "falls_behind": 2, "same_best": 2, "u_shaped": 3}.get(kind, 1)
        if len(at.named_columns or self.known["column"]) < needed:
            raise self.wrong(f"'{kind}' needs {'two' if needed == 2 else 'three'} columns")
        if kind != "trend":
            for metric in at.named_metrics:
                if self.table.metrics[metric].better == "none":
                    raise self.wrong(f"metric '{metric}' has no better direction")

    def _sides(self, kind: str, at: Any) -> None:
        metrics = []
        for side in (at.left, at.right):
            if isinstance(side, CellRef):
                self._cell(side, left=side is at.left)
                metrics.append(self.table.metrics[side.metric])
        if kind == "compare" and at.factor != 1.0:
            for metric in metrics:
                if not metric.never_negative:
                    raise self.wrong(
                        f"a factor means nothing where '{metric.name}' can be negative; say "
                        "bounds: [0, null] in the metric if it cannot, or use a margin"
                    )

    def _cell(self, side: CellRef, left: bool) -> None:
        table, place = self.table, (side.row, side.column, side.metric)
        if not side.printed:
            if place not in {(r.name, c.name, m.name) for r, c, m in table.cells()}:
                raise self.wrong(f"there is no cell {' / '.join(place)}")
        elif left:
            raise self.wrong("'printed' belongs to the right side; the left one is ours")
        elif table.published_value(*place) is None:
            raise self.wrong(f"the table has no published number {' / '.join(place)}")
