"""How fast a device trains and draws, as a share of what it can do.

The ceiling of a training step or a batch of draws is the time that its products would take at the
rate of large matrix products, and its other bytes at that of a copy, both measured. Tensors that
stay in the device's cache are faster than that, so that the share may be above one.
"""

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from jumpbench.tables.commands.gpu.agreement import batches_of, drawn_of, on_device
from jumpbench.tables.commands.gpu.looks import looks
from jumpbench.tables.planning.run import Run
from jumpbench.tables.price.long_loops import counted
from jumpbench.tables.price.stand_ins import no_other_runs
from jumpbench.tables.price.trace import Trace, periods

STEPS = 10
"""Of a training."""


@dataclass(frozen=True)
class Ceilings:
    """Of the device: operations a second of products, by half precision, and bytes a second."""

    flops: dict[bool, float]
    bytes: float

    @classmethod
    def measured(cls, device: str) -> "Ceilings":
        return cls({half: _flops(device, half) for half in (False, True)}, _bandwidth(device))


def short(run: Run) -> dict[str, Any]:
    """The first stage of a run; :data:`STEPS` steps of a training."""
    config = run.placed()
    trainer = config["trainer"] | {"max_steps": STEPS}
    return config | {"stages": config["stages"][:1], "trainer": trainer}


def count_of(run: Run) -> dict[str, Any]:
    return asdict(counted(short(run), 20.0))


def throughput(
    runs: Sequence[Run],
    counts: Sequence[dict[str, Any]],
    device: str,
    ceilings: Ceilings,
    end: float,
) -> Iterator[dict[str, Any]]:
    """Of runs whose work is counted; in this process alone, so that nothing runs beside it."""
    for run, count in zip(runs, counts, strict=True):
        if "left_out" in count:
            yield count
        else:
            look = functools.partial(_share, count=count, device=device, ceilings=ceilings)
            yield from looks([run], look, end)


def _share(run: Run, count: dict[str, Any], device: str, ceilings: Ceilings) -> dict[str, Any]:
    config = short(run)
    half = "16" in str(config["trainer"].get("precision"))
    seconds, parts = seconds_of(config, device, half)
    work = {kind: amount / parts for kind, amount in count["work"].items()}
    products = (work["flops"] + work["convolved"]) / ceilings.flops[half]
    return {
        "loop": "training step" if config["stages"] == ["fit"] else "batch of draws",
        "seconds": seconds, "flops": work["flops"] + work["convolved"], "bytes": work["bytes"],
        "precision": "bfloat16" if half else "float32",
        "share": (products + work["bytes"] / ceilings.bytes) / seconds,
        "share_of_products": products / seconds, "memory_gb": sum(count["memory"].values()),
    }  # fmt: skip


def seconds_of(config: dict[str, Any], device: str, half: bool) -> tuple[float, float]:
    """(seconds of a step or batch, how many of them the run has): a mean step of a second training,
    as the first one warms up, and the first batch of draws."""
    with no_other_runs(), torch.autocast(device, torch.bfloat16, enabled=half):
        batches = batches_of(config)
        for steps in (2, STEPS):
            for stage, trace, batch in on_device(config, batches, device):
                if stage == "fit":
                    seconds = _mean_step(trace, batch, device, steps)
                else:
                    trace.method.on_test_start()
                    began = clock(device)
                    drawn_of(trace.method, batch)
                    return clock(device) - began, batches[stage][1]
    return seconds, float(STEPS)


def _mean_step(trace: Trace, batch: Any, device: str, steps: int) -> float:
    """Seconds of a step; what is done every so many steps only, such as a roll-out, is shared out,
    as it is counted."""

    def timed(number: int, calls: int) -> tuple[float, int]:
        began = clock(device)
        taken = sum(trace.step(batch, number)[1] for _ in range(calls))
        return (clock(device) - began) / calls, taken // calls

    trace.begin()
    timed(0, 1)
    plain, taken = timed(1, steps)
    seconds = plain
    for owner, name, period in list(periods(trace.method)):
        setattr(owner, name, 1)
        seconds += max(timed(0, 1)[0] - plain, 0.0) / period
        setattr(owner, name, period)
    return seconds / max(taken, 1)


def clock(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def _least(device: str, function: Callable[[], Any]) -> float:
    times = []
    for _ in range(8):
        began = clock(device)
        function()
        times.append(clock(device) - began)
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
