"""``jumpbench report --unchanged``: records whose code has changed since and their numbers not."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.names import one_line
from jumpbench.paths import checkout, suite_root
from jumpbench.tables.commands.recorded import read_record, recorded_runs, write_record
from jumpbench.tables.judging.recorded_runs import commits_of
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.constructors import targets
from jumpbench.tables.planning.grid import build, unique_runs
from jumpbench.tables.planning.run import Run
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.runs.git import edited, git, is_here
from jumpbench.tables.runs.store import read_json

NumberKey = tuple[str, str, str, int]  # row, column, metric, seed
Numbers = dict[NumberKey, float]
_OWN = ("JUMPBENCH_CONF", "JUMPBENCH_REPRODUCE", "JUMPBENCH_MODELS", "PYTHONPATH")


def unchanged(
    table_id: str,
    selection: Selection,
    measure: Callable[[Sequence[str], str], Numbers] | None = None,
) -> str:
    """Compare the smoke runs of a table by today's code and by that of its record.

    With overrides, which shorten its runs, the record's own scale takes the place of smoke scale.
    Runs of the record that are older than their code are no longer called so where both give the
    same numbers, bit for bit; the record then names the commit that was compared (``same_at``).

    Args:
        measure: numbers of ``jumpbench table`` with these words by the code of a commit; by default
            of runs that are made in a temporary checkout.

    Returns:
        What was found, in a sentence.

    Raises:
        UserError: a number differs or there is none, the short runs leave out a class that the
            record's runs use, the code of the record is not here or was not committed, or a part
            of a table is asked for.
    """
    head = _head()
    if selection.rows or selection.columns or selection.seeds:
        raise UserError("a record is compared whole; leave out rows=, columns= and seeds=")
    scale, known = selection.scale, recorded_runs(table_id, selection.scale)
    if known is None:
        raise UserError(f"{table_id} has no record at scale {scale}")
    table, content = load(table_id), read_record(table_id, scale)
    seeds = f"{known.seeds}".replace(" ", "") if known.seeds else None
    grid = build(table, Selection(scale, seeds))
    runs = {run.id: run for run in unique_runs(grid) if run.id in known.runs}
    origins = known.origins(list(runs.values()))
    aged = [[i for i in o["runs"] if known.is_outdated(runs[i], o)] for o in origins]
    older = {name for names in aged for name in names}
    if not older:
        return f"{table_id} at scale {scale}: no run is older than its code"
    commits = {c for o, names in zip(origins, aged, strict=True) if names for c in _commits(o)}
    rows = {cell.row.name for cell in grid if older & {run.id for run in cell.runs}}
    short = Selection("smoke")
    if selection.overrides:
        short = Selection(scale, "1", overrides=selection.overrides)
    smallest = [cell for cell in build(table, short) if cell.row.name in rows]
    _need_same_parts([runs[name] for name in older], unique_runs(smallest))

    def numbers(commit: str) -> Numbers:
        made = (measure or _made)([table_id, *short.words()], commit)
        return {place: value for place, value in made.items() if place[0] in rows}

    count = _compare_all({commit: numbers(commit) for commit in sorted(commits)}, numbers, head)
    said = content["provenance"].get("outdated_runs") or ()
    content["provenance"] |= {
        "outdated_runs": [name for name in said if name not in older],
        "origins": [
            {**origin, "same_at": head} if names else origin
            for origin, names in zip(origins, aged, strict=True)
        ],
    }
    write_record(table_id, scale, content)
    return f"{table_id} at scale {scale}: short runs give the same numbers ({count} compared)"


def _head() -> str:
    """The commit of the checkout, whose source must be committed."""
    root = checkout()
    head = git(root, "rev-parse", "HEAD") if root else None
    if root is None or head is None:
        raise UserError("commits are compared in a checkout of the suite")
    if new := edited(root):
        raise UserError(f"{min(new)} differs from the commit; commit it before code is compared")
    return head


def _compare_all(then: dict[str, Numbers], numbers: Callable[[str], Numbers], head: str) -> int:
    """How many numbers of earlier commits and of ``head`` are equal, if all are.

    Where some are not, ``head`` is measured again: what differs between its own two runs, as
    seconds do, is left out.
    """
    now = numbers(head)
    if any(_first_other(each, now) for each in then.values()):
        again = numbers(head)
        moving = {place for place in now if repr(now[place]) != repr(again.get(place))}
        now = {place: value for place, value in now.items() if place not in moving}
        then = {
            commit: {place: value for place, value in each.items() if place not in moving}
            for commit, each in then.items()
        }
    for commit, each in then.items():
        if other := _first_other(each, now):
            row, column, metric, seed = other
            raise UserError(
                f"{row}, {column}, {metric}, seed {seed}: {each.get(other, 'no number')} at "
                f"{commit[:10]}, {now.get(other, 'no number')} now; make the runs again"
            )
    if not now:
        raise UserError("the short runs give no number that could be compared")
    return len(now)


def _first_other(then: Numbers, now: Numbers) -> NumberKey | None:
    """The first place at which one has another number, or none."""
    places = sorted(then.keys() | now.keys())
    return next((p for p in places if repr(then.get(p)) != repr(now.get(p))), None)


def _need_same_parts(theirs: Iterable[Run], smallest: Iterable[Run]) -> None:
    """Short runs must use every class of the data, the method and the evaluation of the others."""

    def parts(runs: Iterable[Run]) -> set[str]:
        chosen = (run.config.get(k) for run in runs for k in ("data", "method", "evaluation"))
        return {str(node["_target_"]) for part in chosen for _, node in targets(part)}

    if left := sorted(parts(theirs) - parts(smallest)):
        raise UserError(
            f"no short run uses {left[0]}; give overrides that shorten the runs of the record's "
            "own scale, or make them again"
        )


def _commits(origin: Mapping[str, Any]) -> list[str]:
    """The commits that made the runs of an origin, all of which must be here."""
    commits = commits_of(origin)
    if origin.get("edited") or not commits or not all(map(is_here, commits)):
        raise UserError(
            f"the code of {', '.join(origin['made_by'])} is not in this checkout; make its runs "
            "again"
        )
    return commits


def _made(words: Sequence[str], commit: str) -> Numbers:
    """Numbers of a table by the code of a commit, on one thread of the processor."""
    root = suite_root()
    own = {key: value for key, value in os.environ.items() if key not in _OWN}
    with tempfile.TemporaryDirectory() as folder:
        tree, outputs = Path(folder, "tree"), Path(folder, "outputs")
        if git(root, "worktree", "add", "--detach", str(tree), commit, seconds=300) is None:
            raise UserError(f"git cannot check {commit[:10]} out beside the suite")
        own |= {"PYTHONPATH": str(tree / "src"), "JUMPBENCH_OUTPUTS": str(outputs),
                "OMP_NUM_THREADS": "1"}  # fmt: skip
        try:
            done = subprocess.run(
                [sys.executable, "-m", "jumpbench", "table", *words],
                cwd=tree, env=own, capture_output=True, text=True, errors="replace",
            )  # fmt: skip
        finally:
            git(root, "worktree", "remove", "--force", str(tree))
        if done.returncode:
            last = one_line((done.stderr.strip() or "no message").splitlines()[-1])
            raise UserError(f"its runs at {commit[:10]} failed: {last[:300]}")
        made = sorted((outputs / "tables" / words[0]).glob("*/table.json"))
        content = read_json(made[0], "run it again") if made else {"cells": []}
    return {
        (cell["row"], cell["column"], cell["metric"], value["seed"]): value["value"]
        for cell in content["cells"] for value in cell["values"]
    }  # fmt: skip
