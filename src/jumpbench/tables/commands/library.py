"""In Python as on the command line: ``jumpbench.tables()``, ``.table(...)`` and ``.run(...)``."""

import sys
from collections.abc import Sequence
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.commands.listing import table_list
from jumpbench.tables.commands.reproduction import make
from jumpbench.tables.commands.results import FinishedRun, load_run, tidy
from jumpbench.tables.commands.single import made_runs
from jumpbench.tables.launchers import Launcher
from jumpbench.tables.launchers import launcher as launcher_of
from jumpbench.tables.planning.selection import Selection, chosen
from jumpbench.tables.runs.failures import read_failure
from jumpbench.tables.runs.store import read_metrics


def tables() -> list[dict[str, Any]]:
    """What there is to make, a dictionary for each table: for ``pandas.DataFrame(tables())``.

    Keys: table, title, about, scales (name: what it may be taken for), cost (class of each scale),
    data (that it needs), recorded and recorded_in_part (scales), seconds (of each scale, as far as
    they are known).
    """
    listed, broken = table_list()
    for line in broken:
        print(f"malformed: {line}", file=sys.stderr)
    return listed


def table(
    name: str,
    scale: str = "small",
    rows: str | Sequence[str] | None = None,
    columns: str | Sequence[str] | None = None,
    seeds: int | Sequence[int] | None = None,
    overrides: str | Sequence[str] = (),
    launcher: str = "serial",
    fresh: bool = False,
) -> list[dict[str, Any]]:
    """Make what is missing of a table, as ``jumpbench table``, and give its numbers.

    Args:
        rows, columns: names or patterns; a part of a table is a table.
        seeds: how many, or which.
        overrides: ``key=value`` for every run; ``launcher.KEY=value`` for the launcher.

    Returns:
        Dictionaries with the keys of :func:`jumpbench.load_table`. A cell without a number has its
        reason as its status.

    Raises:
        UserError: bad input, told before anything runs.
    """
    places, others = _launched(launcher, overrides)
    wanted = None if seeds is None else str(seeds) if isinstance(seeds, int) else str(list(seeds))
    selection = Selection(scale, wanted, _names(rows), _names(columns), others)
    files = make(name, selection, places, fresh)
    kept_rows, kept_columns = chosen(files.table, selection)
    cells = [c for c in files.cells() if c.row in kept_rows and c.column in kept_columns]
    return tidy(cell.as_json() for cell in cells)


def run(
    experiment: str,
    overrides: str | Sequence[str] = (),
    seed: int | None = None,
    launcher: str = "serial",
    fresh: bool = False,
) -> FinishedRun:
    """Make one run of an experiment with what it needs, as ``jumpbench run``, and load it.

    Raises:
        UserError: bad input, or the run failed.
    """
    places, others = _launched(launcher, overrides)
    seeds = None if seed is None else f"[{seed}]"
    (made,) = made_runs(experiment, others, seeds, places, fresh)
    if read_metrics(made.folder) is None:
        why = read_failure(made.folder) or "it has not finished"
        raise UserError(f"{made.id}: {why} (see {made.folder / 'log.txt'})")
    return load_run(made.folder)


def _names(names: str | Sequence[str] | None) -> str | None:
    return names if names is None or isinstance(names, str) else ",".join(names)


def _launched(name: str, overrides: str | Sequence[str]) -> tuple[Launcher, tuple[str, ...]]:
    """The launcher with its options, and the other overrides."""
    given = [overrides] if isinstance(overrides, str) else list(overrides)
    options = [one for one in given if one.startswith("launcher.")]
    return launcher_of(name, options), tuple(one for one in given if one not in options)
