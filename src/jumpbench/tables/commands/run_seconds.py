"""How long runs take: what a record says of its rows, else what is counted before they are made."""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from jumpbench.tables.commands.estimates import ExpectedCost
from jumpbench.tables.commands.recorded import read_record, recorded_file
from jumpbench.tables.judging.table_provenance import DAMAGED
from jumpbench.tables.language.types import Table
from jumpbench.tables.planning.grid import GridCell
from jumpbench.tables.planning.run import Run
from jumpbench.tables.planning.run_places import Purpose, run_places, steps_of, work_digest
from jumpbench.tables.price.kept import (
    NOT_COUNTED,
    Price,
    keep_total,
    kept_total,
    price,
)
from jumpbench.tables.price.machines import Machine

ANY = "*"
"""Stands for every row of a record."""


def estimate(
    table_id: str,
    scale: str,
    grid: Sequence[GridCell],
    missing: Iterable[str],
    machine: Machine | None = None,
    count: bool = False,
    told: Callable[[str], None] = lambda row: None,
) -> ExpectedCost:
    """What the missing runs (hashes) take.

    On this machine (``machine`` None) a run takes what the recorded runs of its row and column
    took, at the same scale, else those of its row on the mean, in proportion to the training steps
    where both have a number of them; not if the table's runs do something else by now (an older
    record does not say what its runs did). A row says nothing about another; of a record that tells
    their seconds together alone, each run takes its mean. Whatever is not recorded, and everything
    on another machine, has the price that is kept for it, or is counted.

    Args:
        count: count what is not kept; takes seconds a row, and torch.
        told: is called with each row, or the experiment that rows need, before it is counted.
    """
    recorded, hardware = ([], []) if machine is not None else _recorded(table_id, scale)
    total, by_hash, named = ExpectedCost(), run_places(grid), set[str]()
    for wanted in missing:
        place, run = by_hash[wanted]
        total.rows[wanted] = place.name or place.row
        if (seconds := _expected(place, run, recorded)) is not None:
            total.seconds[wanted] = seconds
            total.source[wanted] = f"recorded on {'; '.join(hardware)}"
        else:
            found = price(run, count=False)
            if count and found.why == NOT_COUNTED:
                if (row := total.rows[wanted]) not in named:
                    named.add(row)
                    told(row)
                found = price(run)
            _add_counted(total, run, found, machine)
    return total


@dataclass(frozen=True)
class Kept:
    """What is known of a whole table at a scale without counting. ``seconds``: one run after the
    other, by its record if that is whole, else as an earlier plan of all of it counted; None if
    neither says. ``recorded``: "whole", "part" or "" (no record)."""

    seconds: float | None
    recorded: str


def kept(table: Table, scale: str) -> Kept:
    """See :class:`Kept`."""
    state, seconds = "", None
    if recorded_file(table.id, scale).is_file():
        state = "part"
        with contextlib.suppress(*DAMAGED):
            record = read_record(table.id, scale)
            if is_whole(record):
                state = "whole"
                rows = _seconds_of(record)[0]
                seconds = sum(r["seconds"] * r["runs"] for r in rows) or None
    return Kept(kept_total(_table_file(table), scale) if seconds is None else seconds, state)


def is_whole(record: Mapping[str, Any]) -> bool:
    """Whether a record has all that its scale asks for."""
    return not any(c["asked"] and c["status"] in ("missing", "partial") for c in record["cells"])


def keep_seconds(table: Table, scale: str, expected: ExpectedCost) -> None:
    """Keep what all runs of a table take for :func:`kept`, if all are known."""
    if not expected.unknown:
        keep_total(_table_file(table), scale, expected.total)


def _table_file(table: Table) -> str:
    return f"{table.id} {Path(table.file).read_text(encoding='utf-8')}"


def _add_counted(total: ExpectedCost, run: Run, found: Price, machine: Machine | None) -> None:
    limit = (run.config.get("budget") or {}).get("seconds")
    trained = "fit" in run.config["stages"]
    if limit and not (trained and (run.config["trainer"].get("max_steps") or 0) > 0):
        # It goes on until its time is up: a training without a last step, chains, annealing.
        total.seconds[run.hash], total.source[run.hash] = limit, "by their budgets"
        return
    if found.work is None:
        total.unknown[run.hash], total.why[run.hash] = total.rows[run.hash], found.why
        return
    where = machine or _this_machine()
    seconds = found.seconds(where.at(str(run.config["trainer"].get("precision"))))
    total.seconds[run.hash] = min(seconds, limit) if limit else seconds
    total.source[run.hash] = f"counted, for {where.name}"
    total.memory[run.hash] = found.memory


def _this_machine() -> Machine:
    from jumpbench.tables.price.machines import this_machine

    return this_machine()


def _expected(place: Purpose, run: Run, recorded: Sequence[dict[str, Any]]) -> float | None:
    steps, limited = steps_of(run), (run.config.get("budget") or {}).get("seconds")
    if place.name:
        like = [r for r in recorded if r["needed"] == place.name]
    else:
        row = [r for r in recorded if r["row"] in (place.row, ANY) and not r["needed"]]
        like = [r for r in row if r["column"] == place.column]
        if not like and not limited:  # another column has another limit
            like = row
    # Runs of other columns stand in for this one, and do something else by nature.
    here = work_digest(run)
    like = [r for r in like if r["work"] in (None, here) or r["column"] != place.column]
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
        return _seconds_of(read_record(table_id, scale))
    return [], []


def _seconds_of(record: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    origin = record["provenance"]
    hardware = [str(name) for name in origin["hardware"]]
    if "seconds" not in origin:
        return [_mean(record)], hardware
    rows = [
        {
            "row": str(r["row"]), "column": r["column"], "needed": r["needed"],
            "steps": r["steps"] if isinstance(r["steps"], int) else None, "work": r.get("work"),
            "runs": max(int(r["runs"]), 1), "seconds": float(r["seconds"]),
        }
        for r in origin["seconds"]
    ]  # fmt: skip
    return rows, hardware


def _mean(record: Mapping[str, Any]) -> dict[str, Any]:
    """All rows of a whole record that tells what its runs took together.

    Raises:
        ValueError: some are missing, which may take much longer.
    """
    runs, seconds = (record["provenance"][key] for key in ("n_runs", "run_seconds"))
    if runs < 1 or not is_whole(record):
        raise ValueError("not the whole table")
    return {"row": ANY, "column": None, "needed": None, "steps": None, "work": None,
            "runs": runs, "seconds": float(seconds) / runs}  # fmt: skip
