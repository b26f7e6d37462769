"""``jumpbench experiments`` and ``plan``: what could be run, what a table would run."""

import contextlib
from collections import Counter

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
    states = Counter(state_of(run)[0] for run in runs)
    missing = [run for run in runs if state_of(run)[0] != "done"]
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
    with contextlib.suppress(UserError, KeyError, TypeError, ZeroDivisionError):
        made = read_record(table_id, scale)["provenance"]
        seconds = len(missing) * float(made["run_seconds"]) / int(made["n_runs"])
        return (
            f"about {duration(seconds)} one after the other, if each is as long as the mean of "
            f"the {made['n_runs']} recorded ones ({'; '.join(made['hardware'])})"
        )
    return f"how long they take is not known: {table_id} is not recorded at scale {scale}"


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
