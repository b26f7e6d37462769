"""How fast machines work: this one's processor by measurement, GPUs by their data sheets."""

import contextlib
import hashlib
import importlib.metadata
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from jumpbench.errors import UserError
from jumpbench.files import write_atomic
from jumpbench.paths import cache_folder
from jumpbench.tables.price.hardware import machine

UTILISATION = 0.3
"""Share of a GPU's peak that matrix products of the papers' sizes are taken to reach."""
OF_BANDWIDTH = 0.6
OPERATOR = 2e-5
"""Seconds that a process takes to give a GPU one operator, while the GPU works on earlier ones. In
trainings of small networks beside an H200, ``jumpbench gpu`` measured 10 to 33 microseconds, mostly
21 to 28."""
GPUS = {  # TFLOP/s of dense products in float32 (torch's default, without TF32) and in a half
    # precision; TB/s; GiB
    "H200": (67, 989, 4.8, 141), "H100": (67, 989, 3.35, 80), "A100": (19.5, 312, 2.04, 80),
    "L40S": (91.6, 362, 0.864, 48), "A10": (31.2, 125, 0.6, 24), "L4": (30.3, 121, 0.3, 24),
    "RTX4090": (82.6, 165, 1.008, 24), "RTX3090": (35.6, 71, 0.936, 24),
    "V100": (15.7, 125, 0.9, 32), "T4": (8.1, 65, 0.32, 16),
}  # fmt: skip
_KINDS = (
    "flops", "convolved", "bytes", "slow", "random", "drawn", "gathered", "windowed", "attended",
)  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """Seconds per unit of work.

    Args:
        flops, ..., views: per unit of that kind in a
            :class:`~jumpbench.tables.price.operators.Work`.
        steps: of a training loop, beside its operators.
        runs: before and after a run.
        half: flops in half precision; None: as ``flops``.
        at_once: operators are given out while others run, as a GPU's are.
        count: of machines, for runs side by side.
    """

    name: str
    flops: float
    bytes: float
    operators: float
    convolved: float
    slow: float = 0.0
    random: float = 0.0
    drawn: float = 0.0
    gathered: float = 0.0
    windowed: float = 0.0
    attended: float = 0.0
    views: float = 0.0
    steps: float = 1e-3
    runs: float = 1.0
    half: float | None = None
    at_once: bool = False
    count: int = 1

    def at(self, precision: str) -> "Machine":
        """In the precision of a trainer (``bf16-mixed``)."""
        if not self.half or "16" not in precision:
            return self
        return replace(self, flops=self.half, convolved=self.half)

    def seconds(self, work: Mapping[str, float]) -> float:
        """What the fields of a :class:`~jumpbench.tables.price.operators.Work` take."""
        given = work["operators"] * self.operators + work["views"] * self.views
        rest = sum(work[kind] * getattr(self, kind) for kind in _KINDS)
        return max(given, rest) if self.at_once else given + rest


def gpu(text: str) -> Machine:
    """``8xH100``, ``A100``: GPUs of the data sheets.

    Raises:
        UserError: another one.
    """
    count, _, name = text.rpartition("x")
    found = {key.lower(): key for key in GPUS}.get(name.lower().replace(" ", ""))
    if found is None or not (count or "1").isdigit() or int(count or 1) < 1:
        raise UserError(f"devices={text[:40]}: give a number of one of {', '.join(GPUS)}: 8xH100")
    full, half, bandwidth, _ = GPUS[found]
    reached = 1e12 * UTILISATION
    return Machine(
        f"{found} at {UTILISATION:.0%} of its peak", flops=1 / (full * reached),
        half=1 / (half * reached), bytes=1 / (bandwidth * 1e12 * OF_BANDWIDTH),
        operators=OPERATOR, convolved=1 / (full * reached), at_once=True, count=int(count or 1),
    )  # fmt: skip


def this_machine() -> Machine:
    """This machine's processor, measured in a few seconds, and kept in the user's cache unless
    other work disturbed the measurement."""
    here = machine()
    threads = os.environ.get("OMP_NUM_THREADS") or str(here["cores"])
    named = f"{here['cpu']}, {threads} threads"
    key = f"{named} {importlib.metadata.version('torch')} {' '.join(_KINDS)}"
    folder = cache_folder("prices")
    name = f"machine-{hashlib.sha256(key.encode()).hexdigest()[:12]}.json"
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
        return Machine(**json.loads((folder / name).read_text(encoding="utf-8")))  # type: ignore
    from jumpbench.tables.price.measured import measured

    rates, lasts = measured()
    found = Machine(named, **rates)  # type: ignore[arg-type]
    if folder is not None and lasts:
        with contextlib.suppress(OSError, UserError):
            write_atomic(folder / name, json.dumps(asdict(found)))
    return found
