"""What every run of a grid is for."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from jumpbench.tables.planning.grid import GridCell, references_last
from jumpbench.tables.planning.identity import identity
from jumpbench.tables.planning.run import Run


@dataclass(frozen=True)
class Purpose:
    """What a run is for: the first cell that it fills, or the first row that needs it."""

    row: str
    column: str | None = None  # None: the run is needed, and fills no cell itself
    name: str = ""  # of the experiment of a needed run


def run_places(grid: Iterable[GridCell]) -> dict[str, tuple[Purpose, Run]]:
    """Every run of a grid by its hash, with its place."""
    cells = [(cell, run) for cell in references_last(grid) for run in cell.runs]
    places: dict[str, tuple[Purpose, Run]] = {}
    for cell, run in cells:
        places.setdefault(run.hash, (Purpose(cell.row.name, cell.column.name), run))
    for cell, run in cells:
        for need in run.with_needs():
            experiment = f"{need.slug}/{need.name}"
            places.setdefault(need.hash, (Purpose(cell.row.name, None, experiment), need))
    return places


def steps_of(run: Run) -> int | None:
    """Training steps that the run is configured for; None without a training or a fixed number."""
    trainer = run.config.get("trainer")
    steps = trainer.get("max_steps") if isinstance(trainer, dict) else None
    return steps if isinstance(steps, int) and steps > 0 else None


def work_digest(run: Run) -> str:
    """A digest that runs share which do the same at every step: they differ in their seeds, in the
    number of training steps and in the runs that they need, at most."""
    config = unseeded({key: value for key, value in run.config.items() if key != "needs"})
    trainer = config.get("trainer")
    if isinstance(trainer, dict):
        config["trainer"] = {k: v for k, v in trainer.items() if k != "max_steps"}
    return identity(config)


def unseeded(value: Any) -> Any:
    """Plain data without its seeds, and without the names of runs in paths to their folders."""
    if isinstance(value, dict):
        return {k: unseeded(v) for k, v in value.items() if k != "seed"}
    if isinstance(value, list):
        return [unseeded(v) for v in value]
    return "run:" if isinstance(value, str) and value.startswith("run:") else value
