"""``jumpbench gpu``: what a GPU computes beside the CPU, how fast, and one run of a paper's scale.

The parts stand in one file, :func:`~jumpbench.tables.commands.gpu.shown.result_file`, which
``jumpbench report`` shows:

1. Networks, gradients and draws of every kind of run agree with the CPU's
   (:mod:`~jumpbench.tables.commands.gpu.agreement`). Several processes share the runs, and count
   what those of the second part compute.
2. Training steps at the sizes of a scale, and batches of draws at those of ``small``, as a share of
   the device's ceiling (:mod:`~jumpbench.tables.commands.gpu.speed`). Nothing is compiled, as
   compiling takes longer than the check.
3. One row of a table.
"""

import functools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from jumpbench.errors import UserError
from jumpbench.ops.precision import use_tf32
from jumpbench.tables.commands.gpu.agreement import batches_of, differences, outcome
from jumpbench.tables.commands.gpu.looks import looks, processes
from jumpbench.tables.commands.gpu.shown import agreed, ceilings_of, result_file, timed
from jumpbench.tables.commands.gpu.speed import Ceilings, count_of, throughput
from jumpbench.tables.commands.reproduction import reproduce
from jumpbench.tables.language.spec import load
from jumpbench.tables.launchers import launcher
from jumpbench.tables.planning.grid import build, unique_runs
from jumpbench.tables.planning.run import Run
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.price.hardware import machine
from jumpbench.tables.runs.provenance import code_version, now, versions
from jumpbench.tables.runs.store import write_json

SECONDS = 240.0
"""After which each of the first two parts leaves out what remains, and says so; counting is of the
first one's."""
PAPER_RUN = ("sgdd/table2", "SGDD", "D=2")
"""Table, row and column of the third part."""

_TARGET = re.compile(r"'_target_': '(jumpbench\.[\w.]+)'")


def check_gpu(tables: Sequence[str], device: str, scale: str) -> bool:
    """Make all parts, print their lines, write the file after each; True if everything agrees and
    was made.

    Args:
        tables: whose runs are looked at.
        device: ``cuda``, or ``cpu``: the same checks of the CPU against itself.
        scale: of the second and third part.

    Raises:
        UserError: no such device.
    """
    if device not in ("cuda", "cpu"):
        raise UserError(f"device={device[:40]}: give cuda or cpu")
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("torch sees no GPU here; device=cpu makes the same checks on the CPU")
    use_tf32(False)
    name = torch.cuda.get_device_name() if device == "cuda" else machine()["cpu"]
    noted = Noted({"device": name, **code_version(), "versions": versions(), "scale": scale})
    print(f"{name}: agreement with the CPU", flush=True)
    timed_runs = [*_trained(tables, scale), *_drawn(tables, "small" if scale == "paper" else scale)]
    end = time.time() + SECONDS
    with processes() as pool:
        runs = list(_runs(tables, "smoke"))
        look = functools.partial(_agreement, device=device)
        noted.each("agreement", looks(runs, look, end, pool), agreed)
        counts = list(looks(timed_runs, count_of, end, pool))
    print(f"{name}: speed, which anything that runs beside it lowers", flush=True)
    ceilings = Ceilings.measured(device)
    noted.note(ceilings={
        "float32_flops": ceilings.flops[False], "bfloat16_flops": ceilings.flops[True],
        "bytes": ceilings.bytes,
    })  # fmt: skip
    print(f"  {ceilings_of(noted.content)}", flush=True)
    end = time.time() + SECONDS
    noted.each("throughput", throughput(timed_runs, counts, device, ceilings, end), timed)
    table, row, column = PAPER_RUN
    print(f"{name}: {table} at {scale} scale, {row} / {column}", flush=True)
    began = time.monotonic()
    accelerator = f"trainer.accelerator={'gpu' if device == 'cuda' else 'cpu'}"
    selection = Selection(scale, "1", row, column, (accelerator,))
    made = reproduce(table, selection, launcher("serial", []))
    noted.note(run={
        "table": table, "row": row, "column": column, "made": made,
        "seconds": round(time.monotonic() - began, 1),
    })  # fmt: skip
    print(f"written: {result_file()}")
    return made and all(one["agrees"] for one in noted.content["agreement"] if "agrees" in one)


class Noted:
    """What the check has found so far, in its file: one that is stopped keeps that."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content
        self.note()

    def note(self, **parts: Any) -> None:
        self.content |= parts | {"finished": now()}
        write_json(result_file(), self.content)

    def each(
        self, part: str, found: Iterable[dict[str, Any]], line: Callable[[dict[str, Any]], str]
    ) -> None:
        """Prints and notes what is found of each run."""
        seen: list[dict[str, Any]] = []
        for one in found:
            print(f"  {one['run']}: {one.get('left_out') or line(one)}", flush=True)
            seen.append(one)
            self.note(**{part: seen})


def _runs(tables: Sequence[str], scale: str) -> Iterator[Run]:
    """Runs that together hold every class that some run of the tables is made of."""
    seen: set[str] = set()
    for table_id in tables:
        table = load(table_id)
        for run in (
            unique_runs(build(table, Selection(scale, "1"))) if scale in table.scales else ()
        ):
            parts = set(_TARGET.findall(str(run.config["method"])))
            if parts - seen:
                seen |= parts
                yield run


def _trained(tables: Sequence[str], scale: str) -> list[Run]:
    return [run for run in _runs(tables, scale) if "fit" in run.config["stages"]]


def _drawn(tables: Sequence[str], scale: str) -> list[Run]:
    return [run for run in _runs(tables, scale) if "fit" not in run.config["stages"]]


def _agreement(run: Run, device: str) -> dict[str, Any]:
    config = run.placed()
    batches = batches_of(config)
    here = outcome(config, batches, "cpu", half=False)
    found = differences(here, outcome(config, batches, device, half=True))
    return {"agrees": all(a <= most for a, most in found.values()), "differences": found}
