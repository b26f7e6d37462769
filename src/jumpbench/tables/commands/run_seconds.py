"""How long runs take: what a record says of its rows, and what that means for runs to come."""

import contextlib
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.commands.recorded import read_record
from jumpbench.tables.planning.grid import GridCell
from jumpbench.tables.planning.plan import Run
from jumpbench.tables.runs import PROVENANCE
from jumpbench.tables.runs.store import read_json

_DAMAGED = (UserError, KeyError, TypeError, ValueError, AttributeError, OverflowError)


@dataclass(frozen=True)
class Place:
    """What a run is for: the first cell that it fills, or the first row that needs it."""

    row: str
    column: str | None = None  # None: the run is needed, and fills no cell itself
    name: str = ""  # of the experiment of a needed run


def places(grid: Iterable[GridCell]) -> dict[str, tuple[Place, Run]]:
    """Every run of a grid by its hash, with its place."""
    cells = [(cell, run) for cell in grid for run in cell.runs]
    named: dict[str, tuple[Place, Run]] = {}
    for cell, run in cells:
        named.setdefault(run.hash, (Place(cell.row.name, cell.column.name), run))
    for cell, run in cells:
        for need in run.with_needs():
            experiment = f"{need.slug}/{need.name}"
            named.setdefault(need.hash, (Place(cell.row.name, None, experiment), need))
    return named


def measured_seconds(grid: Iterable[GridCell]) -> list[dict[str, Any]]:
    """Mean seconds of the finished runs of every row and column, as ``table.json`` keeps them."""
    seconds: dict[tuple[Place, int | None], list[float]] = {}
    for place, run in places(grid).values():
        file = run.folder / PROVENANCE
        if os.path.isfile(file):
            with contextlib.suppress(*_DAMAGED):
                one = wall_seconds(read_json(file, "delete it"))
                seconds.setdefault((place, steps_of(run)), []).append(one)
    return [
        {
            "row": place.row, "column": place.column, "needed": place.name or None,
            "steps": steps, "runs": len(each), "seconds": round(fmean(each), 2),
        }
        for (place, steps), each in seconds.items()
    ]  # fmt: skip


def wall_seconds(provenance: Mapping[str, Any]) -> float:
    """Seconds that a run took.

    Raises:
        ValueError: its provenance holds something else.
    """
    seconds = float(provenance["wall_seconds"])
    if not 0 <= seconds < math.inf:
        raise ValueError(f"wall_seconds={seconds}")
    return seconds


def steps_of(run: Run) -> int | None:
    """Training steps that the run is configured for; None without a training or a fixed number."""
    trainer = run.config.get("trainer")
    steps = trainer.get("max_steps") if isinstance(trainer, dict) else None
    return steps if isinstance(steps, int) and steps > 0 else None


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
    total, by_hash = Estimate(), places(grid)
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
    with contextlib.suppress(*_DAMAGED):
        made = read_record(table_id, scale)["provenance"]
        rows = [
            {
                "row": str(r["row"]), "column": r["column"], "needed": r["needed"],
                "steps": r["steps"] if isinstance(r["steps"], int) else None,
                "runs": max(int(r["runs"]), 1), "seconds": float(r["seconds"]),
            }
            for r in made["seconds"]
        ]  # fmt: skip
        return rows, [str(name) for name in made["hardware"]]
    return [], []


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3.5 h``, ``9 days``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 72 else f"{hours / 24:.0f} days"
