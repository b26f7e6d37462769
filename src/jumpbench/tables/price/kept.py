"""Counts of runs, kept in the user's cache between calls: reading one needs no torch."""

import contextlib
import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumpbench.errors import DataMissing, UserError
from jumpbench.files import write_atomic
from jumpbench.paths import cache_folder
from jumpbench.tables.planning.identity import DECIDING
from jumpbench.tables.planning.run import Run
from jumpbench.tables.planning.run_places import unseeded

if TYPE_CHECKING:
    from jumpbench.tables.price.machines import Machine

_SUITE = ("tables", "cli")  # what no run's work depends on, but for what counts:
_COUNTS = ("ledger", "operators", "repeated", "stand_ins", "passes", "trace", "long_loops")
NOT_COUNTED = "not counted yet"
_OF_ONE = ("seed", "needs")  # of one run, not of its work


@dataclass(frozen=True)
class Price:
    """What a run takes, or ``why`` that is not known. ``work``: see
    :class:`~jumpbench.tables.price.operators.Work`; ``memory``: GiB of weights, gradients, states
    of optimisers and activations."""

    work: Mapping[str, float] | None = None
    steps: float = 0.0
    memory: Mapping[str, float] = field(default_factory=dict)
    why: str = ""

    @property
    def memory_gb(self) -> float:
        return sum(self.memory.values())

    def seconds(self, machine: "Machine") -> float:
        assert self.work is not None
        return machine.seconds(self.work) + self.steps * machine.steps + machine.runs


def price(run: Run, count: bool = True) -> Price:
    """The price of a run: as kept for its configuration (of whatever seed) and this code, else
    counted, unless not to ``count``."""
    path = _file(run)
    if path is not None:
        with contextlib.suppress(OSError, ValueError, TypeError):
            return Price(**json.loads(path.read_text(encoding="utf-8")))
    if not count:
        return Price(why=NOT_COUNTED)
    found, lasts = _counted(run)
    if path is not None and lasts:
        with contextlib.suppress(OSError, UserError):
            write_atomic(path, json.dumps(asdict(found)))
    return found


def gpu_memory_gb(run: Run) -> float | None:
    """GPU memory that a run is taken to need, in GiB; None if it cannot be counted."""
    found = price(run)
    return None if found.work is None else taken_gb(found.memory_gb)


def taken_gb(counted: float) -> float:
    """GPU memory (GiB) for what is counted: with a third of it for what the allocator loses, and
    one for the context of the process."""
    return 4 / 3 * counted + 1.0


def training_memory(config: dict[str, Any]) -> dict[str, float]:
    """The results of a run with ``stages=[count]``: GiB that one training step of its method holds
    at most, ``counted/memory_gib``, and its parts (:func:`~jumpbench.tables.price.memory.memory`).

    Raises:
        UserError: a precision in which tensors have other sizes than are counted.
    """
    from jumpbench.tables.price.long_loops import counted

    if (precision := str(config["trainer"].get("precision") or "32-true")) != "32-true":
        raise UserError(f"stages=[count] counts float32, not {precision}; give 32-true")
    parts = counted(config | {"stages": ["fit"]}).memory
    found = {f"counted/{name}_gib": taken for name, taken in parts.items()}
    return found | {"counted/memory_gib": sum(parts.values())}


def _counted(run: Run) -> tuple[Price, bool]:
    """(the price, whether it stays that while the code does)."""
    from jumpbench.tables.price.long_loops import counted
    from jumpbench.tables.price.operators import Work

    if run.config["stages"] == ["count"]:
        return Price(asdict(Work())), True
    try:
        return Price(**asdict(counted(run.placed()))), True
    except DataMissing:
        return Price(why="its data are missing"), False
    except UserError as error:
        return Price(why=str(error).splitlines()[0][:120]), False
    except Exception as error:  # a method may do anything with values that are not there
        line = (str(error).splitlines() or [""])[0]
        return Price(why=f"cannot be counted ({type(error).__name__}: {line[:100]})"), True


def _file(run: Run) -> Path | None:
    folder = cache_folder("prices")
    return folder / f"{digest(run)}.json" if folder else None


def digest(run: Run) -> str:
    """Of what decides a run's work: its configuration without seeds and other runs, and the code.

    Runs that differ in seeds alone have one price.
    """
    deciding = {key: unseeded(run.config.get(key)) for key in DECIDING if key not in _OF_ONE}
    text = json.dumps(deciding, sort_keys=True, default=str) + _code()
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@functools.cache
def _code() -> str:
    """Digest of the mathematics, data and methods, and of what counts."""
    root, here = Path(__file__).resolve().parents[2], Path(__file__).resolve().parent
    files = [f for f in root.rglob("*.py") if f.relative_to(root).parts[0] not in _SUITE]
    found = hashlib.sha256()
    for file in sorted([*files, *(here / f"{name}.py" for name in _COUNTS)]):
        found.update(file.read_bytes())
    return found.hexdigest()


def kept_total(table: str, scale: str) -> float | None:
    """Seconds that :func:`keep_total` kept for the same table file and code."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        path = _total_file(table, scale)
        kept = json.loads(path.read_text(encoding="utf-8"))  # type: ignore[union-attr]
        return float(kept["seconds"])
    return None


def keep_total(table: str, scale: str, seconds: float) -> None:
    if path := _total_file(table, scale):
        with contextlib.suppress(OSError, UserError):
            write_atomic(path, json.dumps({"seconds": seconds}))


def _total_file(table: str, scale: str) -> Path | None:
    named = hashlib.sha256(f"{table} {scale} {_code()}".encode()).hexdigest()[:16]
    folder = cache_folder("prices")
    return folder / f"table-{named}.json" if folder else None
