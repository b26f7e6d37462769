"""The curves of a run: what its module logs, in a file that a resumed run goes on with."""

import csv
import io
import math
from pathlib import Path
from typing import Any, cast

from lightning import Callback, LightningModule, Trainer

from jumpbench.files import disk_errors, make_folder, write_atomic


class TrainingLog(Callback):
    """What a module logs, every ``trainer.log_every_n_steps`` steps and behind validations, as csv.

    Rows are written as they come. A resumed run drops those behind its checkpoint, so that the file
    is the same as if it had not been stopped. ``step`` counts updates of weights.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._columns: list[str] = []
        self._batches = 0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not trainer.is_global_zero:
            return
        rows = self._rows()
        earlier = [row for row in rows if float(row["step"]) <= trainer.global_step]
        self._columns = list(rows[0]) if rows else []
        if rows and self._text(earlier).encode() != self._path.read_bytes():
            self._write(earlier)

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        self._batches += 1
        if self._batches % cast(Any, trainer).log_every_n_steps == 0:
            self._add(trainer, validation=False)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not trainer.sanity_checking:
            self._add(trainer, validation=True)

    def state_dict(self) -> dict[str, int]:
        return {"batches": self._batches}

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        self._batches = int(state_dict["batches"])

    def _add(self, trainer: Trainer, validation: bool) -> None:
        metrics = trainer.callback_metrics
        row: dict[str, Any] = {
            name: float(value)
            for name, value in metrics.items()
            if name.startswith("val") is validation
        }
        if not row or not trainer.is_global_zero:
            return
        row = {"step": trainer.global_step} | row
        with disk_errors(self._path):
            if set(row) <= set(self._columns) and self._path.exists():
                with self._path.open("a", newline="") as file:
                    csv.DictWriter(file, self._columns, lineterminator="\n").writerow(row)
                return
            self._columns = [*self._columns, *(name for name in row if name not in self._columns)]
            self._write([*self._rows(), row])

    def _rows(self) -> list[dict[str, Any]]:
        """The whole rows: what follows the last line end was cut off in the midst of writing."""
        if not self._path.is_file():
            return []
        text = self._path.read_bytes().decode(errors="replace")
        rows = csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1], newline=""))
        # None: fewer cells than columns, or more, where a row was written behind such a piece
        whole = [row for row in rows if None not in row and None not in row.values()]
        return [row for row in whole if _is_number(row.get("step"))]

    def _text(self, rows: list[dict[str, Any]]) -> str:
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, self._columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def _write(self, rows: list[dict[str, Any]]) -> None:
        make_folder(self._path.parent)
        write_atomic(self._path, self._text(rows))


def _is_number(text: Any) -> bool:
    try:
        return math.isfinite(float(text))
    except (TypeError, ValueError):
        return False
