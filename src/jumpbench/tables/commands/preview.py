"""``jumpbench experiments`` and ``plan``: what could be run, what a table would run."""

import contextlib
import os
from collections import Counter
from collections.abc import Sequence

import yaml

from jumpbench.errors import UserError
from jumpbench.paths import conf_dirs, experiment_names
from jumpbench.tables.commands.overview import state_of
from jumpbench.tables.commands.run_seconds import Estimate, estimate, keep_seconds
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import Selection, build, unique_runs
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
    table_id: str, selection: Selection, machine: Machine | None = None, count: bool = True
) -> None:
    """How many runs a table needs and is still to make, of which experiments, for how long.

    Args:
        machine: that the runs are to be made on; None: this one.
        count: count what runs take that were not recorded (see
            :func:`~jumpbench.tables.commands.run_seconds.estimate`).
    """
    table = load(table_id)
    grid = build(table, selection)
    runs = unique_runs(grid)
    each = [state_of(run)[0] for run in runs]
    states = Counter(each)
    missing = [run for run, state in zip(runs, each, strict=True) if state != "done"]
    out = console()
    out.print(words(out, f"{table_id}, {selection.scale}", "bold"))
    for kind, count in Counter(f"{run.slug}/{run.name}" for run in missing).items():
        out.print(words(out, f"  {count:>4} x {kind}"), soft_wrap=True)
    counted = ", ".join(f"{n} {state}" for state, n in states.items())
    out.print(words(out, f"{len(runs)} runs: {counted}" if runs else "nothing to run"))
    if missing:
        hashes = [run.hash for run in missing]
        expected = estimate(table_id, selection.scale, grid, hashes, machine, count)
        whole = len(missing) == len(runs) and not (selection.is_part or selection.changes)
        if whole and machine is None:
            keep_seconds(table, selection.scale, expected)
        for line in expected.lines():
            out.print(words(out, f"  {line}", "dim"), soft_wrap=True)
        out.print(words(out, expected.sentence(), "dim"), soft_wrap=True)


def announcement(tables: Sequence[str], selection: Selection) -> str:
    """How many runs several tables are still to make, and how long these take together."""
    total, missing = Estimate(), set[str]()
    for table_id in tables:
        with contextlib.suppress(UserError):  # told when it is its turn
            grid = build(load(table_id), selection)
            own = [run.hash for run in unique_runs(grid) if state_of(run)[0] != "done"]
            missing.update(own)
            total.add(estimate(table_id, selection.scale, grid, own))
    count = f"{len(missing)} run{'s'[: len(missing) != 1]} to make"
    return "; ".join(filter(None, [count, total.sentence()]))
