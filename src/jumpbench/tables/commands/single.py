"""``jumpbench run``: one run of an experiment, or one for each of several seeds."""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from rich.table import Table as RichTable

from jumpbench.errors import UserError
from jumpbench.tables.commands.progress import Terminal
from jumpbench.tables.commands.status import state_of
from jumpbench.tables.language.seeds import sets_seed
from jumpbench.tables.launchers import Launcher
from jumpbench.tables.planning.composition import fitting
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.run import Run
from jumpbench.tables.planning.scalefiles import expanded
from jumpbench.tables.planning.selection import seeds as seeds_of
from jumpbench.tables.planning.unread import refuse_unread
from jumpbench.tables.runs.attempt import forget
from jumpbench.tables.runs.store import read_metrics
from jumpbench.tables.views.console import console, words
from jumpbench.tables.views.layout import number

_LEGEND = (
    "run/...: of the whole run, training and runs that it needed (trained) included; evaluations "
    "and steps without run/: of one sample; ..._floor: what exact draws score"
)


def make_runs(
    experiment: str,
    overrides: Sequence[str],
    seeds: str | None,
    launcher: Launcher,
    fresh: bool = False,
) -> bool:
    """Make runs with what they need, and print their metrics; True if all have some."""
    runs = made_runs(experiment, overrides, seeds, launcher, fresh)
    results = [(run, content["metrics"]) for run in runs if (content := read_metrics(run.folder))]
    if results:
        _print(results)
    return len(results) == len(runs)


def made_runs(
    experiment: str,
    overrides: Sequence[str],
    seeds: str | None,
    launcher: Launcher,
    fresh: bool = False,
) -> list[Run]:
    """Make runs with what they need.

    Args:
        seeds: ``3`` or ``[0,2]``; without it the seed of the configuration.
        fresh: also what is finished (but not what it needs).

    Raises:
        UserError: bad input, told before anything runs; ``seed=`` beside ``seeds``.
    """
    if seeds is not None and any(map(sets_seed, overrides)):
        raise UserError("give seed= or seeds=, not both")
    changes, notes = _changes(experiment, overrides)
    chosen = seeds_of(seeds, 1) if seeds is not None else [None]
    runs = [plan_run(experiment, changes, seed) for seed in chosen]
    refuse_unread(overrides, [lambda typed: (experiment, _changes(experiment, typed)[0])])
    for note in notes:
        console().print(words(console(), note, "yellow"), soft_wrap=True)
    if fresh:
        forget([run.folder for run in runs])
    steps = {step.hash: step for run in runs for step in run.with_needs()}
    if pending := [step for step in steps.values() if state_of(step)[0] != "done"]:
        with Terminal(pending, lambda: None) as terminal:
            launcher.launch(pending, terminal, {})
    return runs


def _changes(experiment: str, overrides: Sequence[str]) -> tuple[list[str], list[str]]:
    """Overrides of the run, and notes: what scale files say, then what is typed, in any order."""
    scales = [text for text in overrides if text.startswith("scale=")]
    typed = [text for text in overrides if text not in scales]
    return fitting(experiment, expanded(scales), typed)


def _print(results: Sequence[tuple[Run, dict[str, Any]]]) -> None:
    """Metrics by seed, and how to have the runs back in Python."""
    out = console()
    table = RichTable(header_style="bold", pad_edge=False)
    table.add_column("metric", overflow="fold")
    several = len(results) > 1
    heads = ["mean", "std", *(f"seed {run.seed}" for run, _ in results)] if several else ["value"]
    for head in heads:
        table.add_column(head, justify="right")
    names = dict.fromkeys(name for _, metrics in results for name in metrics)
    for name in sorted(names, key=_is_of_the_run):
        values = [metrics.get(name) for _, metrics in results]
        summary = _summary(values) if several else []
        table.add_row(*(words(out, text) for text in [name, *summary, *map(_value, values)]))
    for run, _ in results:
        out.print(words(out, run.id, "bold"), soft_wrap=True)
    out.print(table)
    if any(map(_is_of_the_run, names)):
        out.print(words(out, _LEGEND, "dim"), soft_wrap=True)
    for run, _ in results:
        out.print(words(out, f"written: {run.folder}"), soft_wrap=True)
    back = f'import jumpbench; run = jumpbench.load_run("{results[0][0].id}")'
    out.print(words(out, f"in Python: {back}", "dim"), soft_wrap=True)


def _summary(values: Sequence[Any]) -> list[str]:
    """Mean and standard deviation, where all are numbers."""
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) < len(values):
        return ["", ""]
    return [_value(fmean(numbers)), _value(stdev(numbers))]


def _value(value: Any) -> str:
    """Whole numbers as whole numbers, others with four digits, anything else as it is."""
    if value is None or isinstance(value, bool) or not isinstance(value, int | float):
        return "" if value is None else str(value)
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else number(value, 4)


def _is_of_the_run(name: str) -> bool:
    return name.startswith("run/")
