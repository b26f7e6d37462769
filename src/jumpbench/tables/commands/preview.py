"""``jumpbench experiments`` and ``plan``: what could be run, what a table would run."""

import contextlib
import os
import sys
from collections import Counter
from collections.abc import Sequence

import yaml

from jumpbench.errors import UserError, printable
from jumpbench.paths import conf_dirs, experiment_names
from jumpbench.tables.commands.estimates import ExpectedCost
from jumpbench.tables.commands.recorded import recorded_runs
from jumpbench.tables.commands.run_seconds import estimate, keep_seconds
from jumpbench.tables.commands.status import state_of
from jumpbench.tables.language.spec import load
from jumpbench.tables.language.types import Table
from jumpbench.tables.planning.grid import GridCell, build, unique_runs
from jumpbench.tables.planning.run import Run
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.price.kept import NOT_COUNTED
from jumpbench.tables.price.machines import Machine
from jumpbench.tables.views.console import console, words


def print_experiments() -> None:
    """Every experiment that ``jumpbench run`` takes, with the first line that its file says."""
    out = console()
    names = experiment_names()
    width = max(map(len, names))
    for name in names:
        line = words(out, f"{name:<{width}}  ") + words(out, about(name), "dim")
        out.print(line, soft_wrap=True)


def about(experiment: str) -> str:
    """The first comment of the experiment's file, else what it composes."""
    files = [folder / "experiment" / f"{experiment}.yaml" for folder in conf_dirs()]
    file = next(filter(os.path.isfile, files), None)
    text = file.read_text(encoding="utf-8", errors="replace") if file else ""
    for line in text.splitlines():
        if line.startswith("#") and "@package" not in line:
            return line.strip("# ").rstrip(".")
    with contextlib.suppress(yaml.YAMLError, AttributeError, KeyError, TypeError):
        chosen = [e for e in yaml.safe_load(text)["defaults"] if isinstance(e, dict)]
        groups = [
            f"{key.split('/')[-1]}={value}"
            for entry in chosen for key, value in entry.items()
        ]  # fmt: skip
        return ", ".join(g for g in groups if g.split("=")[0] in ("method", "target", "data"))
    return ""


def print_plan(
    table_id: str, selection: Selection, machine: Machine | None = None, recorded: bool = False
) -> None:
    """How many runs a table needs and is still to make, of which experiments, for how long.

    What was not recorded is counted (:func:`~jumpbench.tables.commands.run_seconds.estimate`).

    Args:
        machine: that the runs are to be made on; None: this one.
        recorded: runs of the table's record need not be made.
    """
    table = load(table_id)
    grid, runs, missing, states = _planned(table, selection, recorded)
    out = console()
    out.print(words(out, f"{table_id}, {selection.scale}", "bold"))
    for kind, times in Counter(f"{run.slug}/{run.name}" for run in missing).items():
        out.print(words(out, f"  {times:>4} x {kind}"), soft_wrap=True)
    out.print(words(out, states))
    if missing:
        hashes = [run.hash for run in missing]
        expected = estimate(table_id, selection.scale, grid, hashes, machine)
        if NOT_COUNTED in expected.why.values():
            scale = selection.scale
            expected = estimate(table_id, scale, grid, hashes, machine, count=True, told=_counting)
        whole = len(missing) == len(runs) and not (selection.is_part or selection.changes)
        if whole and machine is None:
            keep_seconds(table, selection.scale, expected)
        for line in expected.lines():
            out.print(words(out, f"  {line}", "dim"), soft_wrap=True)
        out.print(words(out, expected.sentence(), "dim"), soft_wrap=True)


def print_plans(
    tables: Sequence[str],
    selection: Selection,
    machine: Machine | None = None,
    recorded: bool = False,
) -> bool:
    """One line a table: its runs, and what those of them take that were recorded or counted.

    Returns:
        Whether all could be planned; what is wrong with one is told and does not stop the others.
    """
    out, planned, total = console(), True, ExpectedCost()
    for table_id in tables:
        try:
            grid, _, missing, states = _planned(load(table_id), selection, recorded)
        except UserError as error:
            print(f"error: {table_id}: {printable(str(error))}", file=sys.stderr)
            planned = False
            continue
        hashes = [run.hash for run in missing]
        expected = estimate(table_id, selection.scale, grid, hashes, machine)
        total.add(expected)
        line = "; ".join(filter(None, [f"{table_id}: {states}", expected.sentence()]))
        out.print(words(out, line), soft_wrap=True)
    if total.unknown:
        line = f"jumpbench plan SLUG/TABLE scale={selection.scale} counts what has no price"
        out.print(words(out, line, "dim"))
    return planned


def _counting(row: str) -> None:
    print(f"counting what {row} takes, up to a minute ...", file=sys.stderr, flush=True)


def _planned(
    table: Table, selection: Selection, recorded: bool
) -> tuple[list[GridCell], list[Run], list[Run], str]:
    """Cells, runs, those that are still to be made, and how many are in which state."""
    grid = build(table, selection)
    runs = unique_runs(grid)
    wanted = {run.hash for run in unique_runs(_unrecorded(table.id, selection, grid, recorded))}
    each = [state_of(run)[0] if run.hash in wanted else "recorded" for run in runs]
    todo = zip(runs, each, strict=True)
    missing = [run for run, state in todo if state not in ("done", "recorded")]
    counted = ", ".join(f"{n} {state}" for state, n in Counter(each).items())
    return grid, runs, missing, _states(len(runs), counted)


def _unrecorded(
    table_id: str, selection: Selection, grid: list[GridCell], recorded: bool
) -> list[GridCell]:
    """The grid without the runs of the table's record; all of it unless ``recorded`` is asked."""
    known = recorded_runs(table_id, selection.scale) if recorded else None
    return known.left(grid) if known else grid


def still_to_make(
    table: Table, selection: Selection, recorded: bool
) -> tuple[list[GridCell], list[str]]:
    """Cells of a selection, and the hashes of the runs that are not finished."""
    grid = build(table, selection)
    runs = unique_runs(_unrecorded(table.id, selection, grid, recorded))
    return grid, [run.hash for run in runs if state_of(run)[0] != "done"]


def _states(count: int, counted: str) -> str:
    return f"{count} run{'s'[: count > 1]}: {counted}" if count else "nothing to run"


def announcement(tables: Sequence[str], selection: Selection, recorded: bool = False) -> str:
    """How many runs several tables are still to make, and how long these take together."""
    total, missing = ExpectedCost(), set[str]()
    for table_id in tables:
        with contextlib.suppress(UserError):  # told when it is its turn
            grid, own = still_to_make(load(table_id), selection, recorded)
            missing.update(own)
            total.add(estimate(table_id, selection.scale, grid, own))
    count = f"{len(missing)} run{'s'[: len(missing) != 1]} to make"
    return "; ".join(filter(None, [count, total.sentence()]))
