"""``jumpbench experiments`` and ``plan``: what could be run, what a table would run."""

import contextlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import yaml

from jumpbench.errors import UserError
from jumpbench.paths import conf_dirs, experiment_names
from jumpbench.tables.console import console, words
from jumpbench.tables.grid import Selection, build, unique_runs
from jumpbench.tables.overview import state_of
from jumpbench.tables.plan import Run
from jumpbench.tables.recorded import read_record
from jumpbench.tables.spec import load


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
    text = next((file.read_text(encoding="utf-8") for file in files if file.is_file()), "")
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


def print_plan(table_id: str, selection: Selection) -> None:
    """How many runs a table needs and is still to make, of which experiments, for how long."""
    table = load(table_id)
    runs = unique_runs(build(table, selection))
    found = [state_of(run)[0] for run in runs]
    states = Counter(found)
    missing = [run for run, state in zip(runs, found, strict=True) if state != "done"]
    out = console()
    out.print(words(out, f"{table_id}, {selection.scale}", "bold"))
    for kind, count in Counter(f"{run.slug}/{run.name}" for run in missing).items():
        out.print(words(out, f"  {count:>4} x {kind}"), soft_wrap=True)
    counted = ", ".join(f"{n} {state}" for state, n in states.items())
    out.print(words(out, f"{len(runs)} runs: {counted}" if runs else "nothing to run"))
    if missing:
        out.print(words(out, expected(table_id, selection.scale, missing), "dim"), soft_wrap=True)


def expected(table_id: str, scale: str, missing: list[Run]) -> str:
    """How long the missing runs take, from the mean run of the recorded table."""
    if (each := _recorded_mean(table_id, scale)) is None:
        return f"how long they take is not known: {table_id} is not recorded at scale {scale}"
    seconds, made = each
    return (
        f"about {duration(len(missing) * seconds)} one after the other, if each is as long as the "
        f"mean of the {made['n_runs']} recorded ones ({'; '.join(made['hardware'])})"
    )


def estimate(tables: Sequence[str], selection: Selection) -> str:
    """How many runs several tables are still to make, and how long these take together."""
    known: dict[str, float] = {}
    unknown: set[str] = set()
    not_recorded: list[str] = []
    for table_id in tables:
        with contextlib.suppress(UserError):  # told when it is its turn
            runs = unique_runs(build(load(table_id), selection))
            missing = {run.hash for run in runs if state_of(run)[0] != "done"}
            if each := _recorded_mean(table_id, selection.scale):
                known |= dict.fromkeys(missing, each[0])
            elif missing:
                unknown |= missing
                not_recorded.append(table_id)
    line = f"{len(known | dict.fromkeys(unknown))} runs to make"
    if known:
        line += (
            f"; {len(known)} of them take about {duration(sum(known.values()))} one after the "
            "other, as long as the recorded runs of their tables"
        )
    if rest := unknown - known.keys():
        line += f"; for {len(rest)} nothing is recorded ({', '.join(not_recorded)})"
    return line


def _recorded_mean(table_id: str, scale: str) -> tuple[float, dict[str, Any]] | None:
    """(seconds of the mean recorded run, provenance of the record)."""
    with contextlib.suppress(UserError, KeyError, TypeError, ValueError, ZeroDivisionError):
        made = read_record(table_id, scale)["provenance"]
        return float(made["run_seconds"]) / int(made["n_runs"]), made
    return None


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
