"""Finished work back in Python: a run with its trained method, a table as tidy rows."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumpbench.errors import UserError
from jumpbench.names import no_such
from jumpbench.paths import outputs_root
from jumpbench.tables.commands.recorded import read_content, recorded_file
from jumpbench.tables.language.spec import load
from jumpbench.tables.runs import CHECKPOINTS, CONFIG, LAST_CHECKPOINT, PROVENANCE
from jumpbench.tables.runs.store import read_config, read_json, read_metrics

if TYPE_CHECKING:
    from jumpbench.methods.common.base import Method


@dataclass(frozen=True)
class FinishedRun:
    """A finished run.

    Attributes:
        folder: where it lies.
        config: the plain configuration that it was made from.
        metrics: its numbers by name.
    """

    folder: Path
    config: dict[str, Any] = field(repr=False)
    metrics: dict[str, float] = field(repr=False)

    @functools.cached_property
    def method(self) -> "Method":
        """The method with its trained weights (averaged ones where it averages), on the CPU.

        Raises:
            UserError: a configuration of somebody else that names what none may call, or no method.
        """
        import torch

        from jumpbench.methods.common.base import Method
        from jumpbench.tables.planning.gate import construct
        from jumpbench.tables.runs.checkpoints import problem_of

        method = construct(self.config.get("method"), "method")
        if not isinstance(method, Method):
            raise UserError(f"{self.folder / 'config.yaml'} is damaged (no method in it)")
        if "fit" in (self.config.get("stages") or ()):
            path = self.folder / CHECKPOINTS / LAST_CHECKPOINT
            if not path.is_file():
                raise UserError(f"{path} is missing: delete metrics.json beside it and run again")
            if problem := problem_of(path):
                raise UserError(
                    f"{path} is damaged ({problem}): delete metrics.json beside it and run again"
                )
            state = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
            method.load_state_dict(state)
        return method.eval()

    @functools.cached_property
    def artifacts(self) -> dict[str, Any]:
        """Its samples and what else it saved in ``samples.pt``."""
        from jumpbench.artifacts import load_artifacts

        return load_artifacts(self.folder)

    @functools.cached_property
    def provenance(self) -> dict[str, Any]:
        """Commit, versions, hardware and times."""
        return read_json(self.folder / PROVENANCE, "run it again with fresh=true")


def load_run(run: str | Path) -> FinishedRun:
    """A finished run by its folder, its id (``sgdd/synthetic-d2-0123456789``) or its hash.

    Raises:
        UserError: there is no such run, several have that hash, or it has not finished.
    """
    folder = Path(run) if (Path(run) / CONFIG).is_file() else _folder(str(run))
    record = read_metrics(folder)
    if record is None:
        raise UserError(f"{folder} has not finished; run it first (jumpbench status says what is)")
    numbers = {name: float(value) for name, value in record["metrics"].items()}  # "inf" in JSON
    return FinishedRun(folder, read_config(folder), numbers)


def _folder(run: str) -> Path:
    runs = outputs_root() / "runs"
    if (runs / run / CONFIG).is_file():
        return runs / run
    known = {
        str(path.parent.relative_to(runs)): path.parent for path in runs.glob("*/*/config.yaml")
    }
    matching = [folder for name, folder in known.items() if name.endswith(f"-{run}")]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise UserError(f"several runs are called {run}: {', '.join(map(str, matching))}")
    raise no_such("run", run, sorted(known))


def load_table(table: str, scale: str = "small") -> list[dict[str, Any]]:
    """A table's numbers as rows, one a seed: for ``pandas.DataFrame(load_table(...))``.

    Your own table if there is one, else the recorded one. Keys: row, column, metric, seed,
    value, run, paper, status. A cell without values of single seeds has
    one row with its mean, or None.

    Raises:
        UserError: neither made nor recorded.
    """
    return tidy(table_content(table, scale)["cells"])


def tidy(cells: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of :func:`load_table` of cells as ``table.json`` has them."""
    rows = []
    for cell in cells:
        mean = {"seed": None, "value": cell["measured"], "run": None}
        for value in cell.get("values") or [mean]:
            rows.append(
                {
                    "row": cell["row"], "column": cell["column"], "metric": cell["metric"],
                    **value, "paper": cell["paper"], "status": cell["status"],
                }
            )  # fmt: skip
    return rows


def table_content(table: str, scale: str) -> dict[str, Any]:
    """``table.json``: your own if there is one, else the recorded one.

    Raises:
        UserError: neither made nor recorded, or damaged.
    """
    own = outputs_root() / "tables" / table / scale / "table.json"
    path = next((p for p in (own, recorded_file(table, scale)) if p.is_file()), None)
    if path is None:
        load(table)  # raises if there is no such table
        raise UserError(
            f"{table} at scale {scale} is neither made nor recorded; "
            f"make it with: jumpbench table {table} scale={scale}"
        )
    return read_content(path, "make the table again")
