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
from jumpbench.tables.planning.grid import build, unique_runs
from jumpbench.tables.planning.run import Run
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.runs.codeage import edited, git, is_here, targets
from jumpbench.tables.runs.store import read_json

Numbers = dict[tuple[str, str, str, int], float]
_OWN = ("JUMPBENCH_CONF", "JUMPBENCH_REPRODUCE", "JUMPBENCH_MODELS", "PYTHONPATH")


def unchanged(
    table_id: str,
    selection: Selection,
    smoke: Callable[[Sequence[str], str, Path], Numbers] | None = None,
) -> str:
    """Compare the table at smoke scale, as it is now and as it was when its record was made.

    With overrides, which shorten its runs, the record's own scale takes the place of smoke scale.

    Runs of the record that are older than their code are no longer called so where both give the
    same numbers, bit for bit; the record then names the commit that was compared (``same_at``).

    Args:
        smoke: numbers by the code of a commit, in a folder, of ``jumpbench table`` with these
            words; by default of runs that are made in a checkout there.

    Returns:
        What was found, in a sentence.

    Raises:
        UserError: a number differs, the smoke scale leaves out code that the record's runs use, or
            code of the record is not here or was not committed.
    """
    root = checkout()
    head = git(root, "rev-parse", "HEAD") if root else None
    if root is None or head is None:
        raise UserError("commits are compared in a checkout of the suite")
    if new := edited(root):
        raise UserError(f"{min(new)} differs from the commit; commit it before code is compared")
    known = recorded_runs(table_id, selection.scale)
    if known is None:
        raise UserError(f"{table_id} has no record at scale {selection.scale}")
    table, content = load(table_id), read_record(table_id, selection.scale)
    seeds = f"{known.seeds}".replace(" ", "") if known.seeds else None
    grid = build(table, Selection(selection.scale, seeds))
    runs = {run.id: run for run in unique_runs(grid)}
    origins = known.origins([run for run in runs.values() if run.id in known.runs])
    older = {
        k: theirs for k, origin in enumerate(origins)
        if (theirs := [runs[i] for i in origin["runs"] if known.is_outdated(runs[i], origin)])
    }  # fmt: skip
    if not older:
        return f"{table_id} at scale {selection.scale}: no run is older than its code"
    same = {run.id for theirs in older.values() for run in theirs}
    rows = {cell.row.name for cell in grid if same & {run.id for run in cell.runs}}
    short = Selection("smoke")
    if selection.overrides:
        short = Selection(selection.scale, "1", overrides=selection.overrides)
    words = [table_id, *short.words()]
    smallest = [cell for cell in build(table, short) if cell.row.name in rows]
    for theirs in older.values():
        _need_same_parts(theirs, unique_runs(smallest))

    def measure(commit: str) -> Numbers:
        with tempfile.TemporaryDirectory() as folder:
            made = (smoke or _made)(words, commit, Path(folder))
        return {place: value for place, value in made.items() if place[0] in rows}

    commits = {commit for k in older for commit in _commits(origins[k])}
    now = measure(head)
    then = {commit: measure(commit) for commit in sorted(commits)}
    if any(numbers != now for numbers in then.values()):
        again = measure(head)  # seconds differ from run to run, and say nothing
        moving = {place for place in now if repr(now[place]) != repr(again.get(place))}
        for numbers in (now, *then.values()):
            for place in moving & numbers.keys():
                del numbers[place]
    for commit, numbers in then.items():
        _compare(numbers, now, commit[:10])
    for k in older:
        origins[k] = {**origins[k], "same_at": head}
    said = content["provenance"].get("outdated_runs") or ()
    left = [name for name in said if name not in same]
    content["provenance"] |= {"origins": origins, "outdated_runs": left}
    write_record(table_id, selection.scale, content)
    return f"{table_id} at scale {selection.scale}: short runs give the same {len(now)} numbers"


def _need_same_parts(theirs: Iterable[Run], smallest: Iterable[Run]) -> None:
    """Smoke runs use every class of the data, the method and the evaluation of the others."""

    def parts(runs: Iterable[Run]) -> set[str]:
        chosen = (run.config.get(k) for run in runs for k in ("data", "method", "evaluation"))
        return {name for part in chosen for name in targets(part)}

    if left := sorted(parts(theirs) - parts(smallest)):
        raise UserError(
            f"the smoke scale has no run of {left[0]}; give overrides that "
            "shorten the runs of the record's own scale, or make them again"
        )


def _commits(origin: Mapping[str, Any]) -> list[str]:
    commits = commits_of(origin)
    if origin.get("edited") or not commits or not all(map(is_here, commits)):
        raise UserError(
            f"the code of {', '.join(origin['made_by'])} is not in this checkout; make its runs "
            "again"
        )
    return commits


def _compare(then: Numbers, now: Numbers, commit: str) -> None:
    for place in sorted(then.keys() | now.keys()):
        if place not in then or place not in now or repr(then[place]) != repr(now[place]):
            row, column, metric, seed = place
            raise UserError(
                f"{row}, {column}, {metric}, seed {seed}: {then.get(place, 'no number')} at "
                f"{commit}, {now.get(place, 'no number')} now; make the runs again"
            )


def _made(words: Sequence[str], commit: str, folder: Path) -> Numbers:
    """Numbers of a table by the code of a commit, on one thread of the processor."""
    root = suite_root()
    tree, outputs = folder / f"tree-{commit}", folder / f"outputs-{commit}"
    if git(root, "worktree", "add", "--detach", str(tree), commit) is None:
        raise UserError(f"git cannot check {commit[:10]} out beside the suite")
    own = {key: value for key, value in os.environ.items() if key not in _OWN}
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
