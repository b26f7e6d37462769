"""What earlier attempts left to a run that was stopped: by which code, where, in what time.

A run goes on from its last checkpoint and its draws, so that its numbers are those of several
attempts. Each is noted in the run's folder when it begins, and with its seconds when it is stopped
or fails. An attempt that was killed has no seconds. Where nothing was left, a run starts anew and
its earlier attempts are forgotten.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.runs import (
    ATTEMPTS,
    CHECKPOINTS,
    DRAWS,
    LAST_CHECKPOINT,
    PREVIOUS_CHECKPOINT,
)
from jumpbench.tables.runs.store import read_json, write_json

SECONDS = ("wall_seconds", "processor_seconds")


class Attempts:
    """The attempts at one run, of which the last is made now.

    Args:
        folder: of the run, as the last attempt finds it.

    Raises:
        UserError: ``attempts.json`` is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / ATTEMPTS
        self._earlier = _read(self._file) if _is_left(folder) else []

    def begin(self, origin: Mapping[str, Any]) -> None:
        """Note an attempt before it does anything; ``origin`` is its provenance."""
        write_json(self._file, [*self._earlier, {**origin, **dict.fromkeys(SECONDS)}])

    def end(self, origin: Mapping[str, Any]) -> None:
        """Note how long it took until it was stopped or failed."""
        write_json(self._file, [*self._earlier, dict(origin)])

    def together(self, origin: Mapping[str, Any]) -> dict[str, Any]:
        """The provenance of the run: that of its last attempt, with the seconds of all, the highest
        memory, and the ``earlier`` ones in their order."""
        if not self._earlier:
            return dict(origin)
        every = [*self._earlier, origin]
        return {
            **origin,
            **{key: round(sum(one.get(key) or 0.0 for one in every), 3) for key in SECONDS},
            "peak_memory_gb": max(one.get("peak_memory_gb") or 0.0 for one in every),
            "earlier": self._earlier,
        }

    def forget(self) -> None:
        """Once the run is finished its provenance has them."""
        self._file.unlink(missing_ok=True)


def attempts_of(provenance: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The provenance of every attempt at a run, the last one first."""
    return [provenance, *reversed(provenance.get("earlier") or ())]


def _is_left(folder: Path) -> bool:
    """Whether there is anything that an attempt goes on from."""
    checkpoints = (folder / CHECKPOINTS / name for name in (LAST_CHECKPOINT, PREVIOUS_CHECKPOINT))
    return any(path.exists() for path in checkpoints) or any((folder / DRAWS).glob("*.pt"))


def _read(file: Path) -> list[dict[str, Any]]:
    remedy = "delete it: how long earlier attempts took is then not known"
    found = read_json(file, remedy) if file.exists() else []
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise UserError(f"{file} is damaged (no list of attempts); {remedy}")
    return found
