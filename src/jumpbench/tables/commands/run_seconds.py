"""How long runs take: what a record says of its rows, and what that means for runs to come."""

import contextlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from jumpbench.tables.commands.recorded import read_record
from jumpbench.tables.judging.table_provenance import DAMAGED
from jumpbench.tables.planning.grid import GridCell
from jumpbench.tables.planning.run_places import Place, run_places, steps_of

SHOWN = 6
"""So many rows of which nothing is recorded are named."""


@dataclass
class Estimate:
    """Seconds of runs by hash; of those about which nothing is recorded, the row."""

    seconds: dict[str, float] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    hardware: dict[str, None] = field(default_factory=dict)

    def add(self, other: "Estimate") -> None:
        """Runs that two tables share count once, and are known if one of the two knows them."""
        self.seconds |= other.seconds
        self.hardware |= other.hardware
        both = self.unknown | other.unknown
        self.unknown = {run: row for run, row in both.items() if run not in self.seconds}

    def sentence(self) -> str:
        parts = []
        if self.seconds:
            count = len(self.seconds)
            where = f" ({'; '.join(self.hardware)})" if self.hardware else ""
            parts.append(
                f"about {duration(sum(self.seconds.values()))} for {count} run{'s'[: count > 1]} "
                f"one after the other, by the recorded runs of the same rows{where}"
            )
        if self.unknown:
            rows = Counter(self.unknown.values())
            words = [f"{row} ({count})" for row, count in rows.items()]
            shown = ", ".join(words[:SHOWN]) + f" and {len(words) - SHOWN} more" * (
                len(words) > SHOWN
            )
            parts.append(f"how long these rows take is not recorded: {shown}")
        return "; ".join(parts)


def estimate(
    table_id: str, scale: str, grid: Sequence[GridCell], missing: Iterable[str]
) -> Estimate:
    """What the missing runs (hashes) take, by the record of the table at the same scale.

    A run takes what the recorded runs of its row and column took, else those of its row on the
    mean, in proportion to the training steps where both have a number of them. A row says nothing
    about another.
    """
    recorded, hardware = _recorded(table_id, scale)
    total, by_hash = Estimate(), run_places(grid)
    for wanted in missing:
        place, run = by_hash[wanted]
        if (seconds := _expected(place, steps_of(run), recorded)) is None:
            total.unknown[wanted] = place.name or place.row
        else:
            total.seconds[wanted] = seconds
    total.hardware = dict.fromkeys(hardware) if total.seconds else {}
    return total


def _expected(place: Place, steps: int | None, recorded: Sequence[dict[str, Any]]) -> float | None:
    if place.name:
        like = [r for r in recorded if r["needed"] == place.name]
    else:
        row = [r for r in recorded if r["row"] == place.row and not r["needed"]]
        like = [r for r in row if r["column"] == place.column] or row
    if not like:
        return None
    each = [
        r["seconds"] * (steps / r["steps"] if steps and r["steps"] else 1.0)
        for r in like for _ in range(r["runs"])
    ]  # fmt: skip
    return fmean(each)


def _recorded(table_id: str, scale: str) -> tuple[list[dict[str, Any]], list[str]]:
    """What the record says of the seconds of its rows, and its hardware; nothing without one."""
    with contextlib.suppress(*DAMAGED):
        origin = read_record(table_id, scale)["provenance"]
        rows = [
            {
                "row": str(r["row"]), "column": r["column"], "needed": r["needed"],
                "steps": r["steps"] if isinstance(r["steps"], int) else None,
                "runs": max(int(r["runs"]), 1), "seconds": float(r["seconds"]),
            }
            for r in origin["seconds"]
        ]  # fmt: skip
        return rows, [str(name) for name in origin["hardware"]]
    return [], []


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3.5 h``, ``9 days``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 72 else f"{hours / 24:.0f} days"
