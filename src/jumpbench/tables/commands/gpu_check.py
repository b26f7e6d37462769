"""``jumpbench gpu``: what a GPU computes beside the CPU, how fast, and one run of a paper's scale.

The parts stand in one file, :func:`~jumpbench.tables.commands.gpu_shown.result_file`, which
``jumpbench report`` shows:

1. Networks, gradients and draws of every kind of run agree with the CPU's
   (:mod:`~jumpbench.tables.commands.gpu_agreement`). Several processes share the runs, and count
   what those of the second part compute.
2. Training steps at the sizes of a scale, and batches of draws at those of ``small``, as a share of
   the device's ceiling: the time that their products would take at the rate of large matrix
   products, and their other bytes at that of a copy, both measured, over the time that they take.
   Nothing is compiled, as compiling takes longer than the check.
3. One row of a table.
"""

import functools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from jumpbench.errors import UserError
from jumpbench.ops.precision import use_tf32
from jumpbench.tables.commands.gpu_agreement import (
    batches_of,
    differences,
    drawn_of,
    on_device,
    outcome,
)
from jumpbench.tables.commands.gpu_looks import looks, processes
from jumpbench.tables.commands.gpu_shown import agreed, result_file, timed
from jumpbench.tables.commands.reproduction import reproduce
from jumpbench.tables.language.spec import load
from jumpbench.tables.launchers import launcher
from jumpbench.tables.planning.grid import Selection, build, unique_runs
from jumpbench.tables.planning.run import Run
from jumpbench.tables.price.long_loops import counted
from jumpbench.tables.price.stand_ins import no_other_runs
from jumpbench.tables.runs.provenance import code_version, machine, now, versions
from jumpbench.tables.runs.store import write_json

SECONDS = 240.0
"""After which each of the first two parts leaves out what remains, and says so; counting is of the
first one's."""
STEPS = 10
PAPER_RUN = ("sgdd/table2", "SGDD", "D=2")
"""Table, row and column of the third part."""


@dataclass(frozen=True)
class Ceilings:
    """Of the device: operations a second of products, by half precision, and bytes a second."""

    flops: dict[bool, float]
    bytes: float


_TARGET = re.compile(r"'_target_': '(jumpbench\.[\w.]+)'")


def check_gpu(tables: Sequence[str], device: str, scale: str) -> bool:
    """Make all parts, print their lines, write the file; True if everything agrees and was made.

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
    on_gpu = device == "cuda"
    use_tf32(False)
    name = torch.cuda.get_device_name() if on_gpu else machine()["cpu"]
    print(f"{name}: agreement with the CPU", flush=True)
    timed_runs = [*_trained(tables, scale), *_drawn(tables, "small" if scale == "paper" else scale)]
    end = time.time() + SECONDS
    with processes() as pool:
        runs = list(_runs(tables, "smoke"))
        look = functools.partial(_agreement, device=device)
        agreement = list(_printed(looks(runs, look, end, pool), agreed))
        counts = list(looks(timed_runs, _counted, end, pool))
    print(f"{name}: speed, which anything that runs beside it lowers", flush=True)
    ceilings = Ceilings(
        {half: _flops(device, half) for half in (False, True)}, _bandwidth(device)
    )  # fmt: skip
    print(
        f"ceilings: {ceilings.flops[False] / 1e12:.3g} TFLOP/s in float32, "
        f"{ceilings.flops[True] / 1e12:.3g} in bfloat16, {ceilings.bytes / 1e9:.3g} GB/s",
        flush=True,
    )
    speed = list(_printed(_throughput(timed_runs, counts, device, ceilings), timed))
    began = time.monotonic()
    table, row, column = PAPER_RUN
    print(f"{name}: {table} at {scale} scale, {row} / {column}", flush=True)
    accelerator = f"trainer.accelerator={'gpu' if on_gpu else 'cpu'}"
    selection = Selection(scale, "1", row, column, (accelerator,))
    made = reproduce(table, selection, launcher("serial", []))
    content = {
        "device": name, "finished": now(), **code_version(), "versions": versions(),
        "agreement": agreement, "ceilings": {
            "float32_flops": ceilings.flops[False], "bfloat16_flops": ceilings.flops[True],
            "bytes": ceilings.bytes,
        },
        "throughput": speed, "run": {
            "table": table, "row": row, "column": column, "scale": scale, "made": made,
            "seconds": round(time.monotonic() - began, 1),
        },
    }  # fmt: skip
    write_json(result_file(), content)
    print(f"written: {result_file()}")
    return made and all(one["agrees"] for one in agreement if "agrees" in one)


def _printed(parts: Iterator[dict[str, Any]], line: Callable[[dict[str, Any]], str]) -> Iterator:
    for part in parts:
        print(f"  {part['run']}: {part.get('left_out') or line(part)}", flush=True)
        yield part


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


def _short(run: Run) -> dict[str, Any]:
    """The first stage of a run; :data:`STEPS` steps of a training."""
    config = run.placed()
    trainer = config["trainer"] | {"max_steps": STEPS}
    return config | {"stages": config["stages"][:1], "trainer": trainer}


def _counted(run: Run) -> dict[str, Any]:
    return asdict(counted(_short(run), 20.0))


def _throughput(
    runs: Sequence[Run], counts: Sequence[dict[str, Any]], device: str, ceilings: Ceilings
) -> Iterator[dict[str, Any]]:
    """Of runs whose work is counted; in this process alone, so that nothing runs beside it."""
    end = time.time() + SECONDS
    for run, count in zip(runs, counts, strict=True):
        if "left_out" in count:
            yield count
        else:
            look = functools.partial(_share, count=count, device=device, ceilings=ceilings)
            yield from looks([run], look, end)


def _share(run: Run, count: dict[str, Any], device: str, ceilings: Ceilings) -> dict[str, Any]:
    config = _short(run)
    half = "16" in str(config["trainer"].get("precision"))
    seconds, parts = _seconds(config, device, half)
    work = {kind: amount / parts for kind, amount in count["work"].items()}
    products = (work["flops"] + work["convolved"]) / ceilings.flops[half]
    return {
        "loop": "training step" if config["stages"] == ["fit"] else "batch of draws",
        "seconds": seconds, "flops": work["flops"] + work["convolved"], "bytes": work["bytes"],
        "precision": "bfloat16" if half else "float32",
        "share": (products + work["bytes"] / ceilings.bytes) / seconds,
        "share_of_products": products / seconds, "memory_gb": sum(count["memory"].values()),
    }  # fmt: skip


def _seconds(config: dict[str, Any], device: str, half: bool) -> tuple[float, float]:
    """(seconds of a step or batch, how many of them the run has): steps of a second training, as
    the first one warms up, and the first batch of draws."""
    with no_other_runs(), torch.autocast(device, torch.bfloat16, enabled=half):
        batches = batches_of(config)
        for steps in (2, STEPS):
            for stage, trace, batch in on_device(config, batches, device):
                taken = 0
                if stage == "fit":
                    trace.begin()
                    began = _now(device)
                    while taken < steps:
                        taken += trace.step(batch, taken)[1]
                    seconds = (_now(device) - began) / taken
                else:
                    trace.method.on_test_start()
                    began = _now(device)
                    drawn_of(trace.method, batch)
                    return _now(device) - began, batches[stage][1]
    return seconds, float(STEPS)


def _now(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def _least(device: str, function: Callable[[], Any]) -> float:
    times = []
    for _ in range(8):
        began = _now(device)
        function()
        times.append(_now(device) - began)
    return min(times)


def _flops(device: str, half: bool) -> float:
    """Floating-point operations a second of a large matrix product."""
    size = 8192 if device == "cuda" else 512
    x = torch.randn(size, size, device=device, dtype=torch.bfloat16 if half else torch.float32)
    return 2 * size**3 / _least(device, lambda: x @ x)


def _bandwidth(device: str) -> float:
    """Bytes a second, read and written, of a large copy."""
    x = torch.zeros(2**28 if device == "cuda" else 2**22, device=device)
    y = torch.empty_like(x)
    return 8 * len(x) / _least(device, lambda: y.copy_(x))
