"""One run on several machines: how its processes find each other.

Whoever starts the run's command on every machine (a job of Slurm, one task on each) names the party
in ``JUMPBENCH_PARTY``. The first machine attempts the run as if it were alone, and writes where its
processes meet into ``begun.json``; the others wait for that and join.
"""

import contextlib
import json
import os
import socket
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.runs import BEGUN

PARTY = "JUMPBENCH_PARTY"
_MACHINE = "NODE_RANK"


def machines(trainer: dict[str, Any]) -> int:
    """Number of machines a trainer configuration asks for.

    Raises:
        UserError: not a whole number above zero.
    """
    count = trainer.get("num_nodes")
    count = 1 if count is None else count
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise UserError(f"trainer.num_nodes={count}: give a whole number of machines")
    return count


def opened(trainer: dict[str, Any]) -> dict[str, str]:
    """Where the processes of an attempt meet, as variables of their environment; empty on one
    machine, whose processes find each other by themselves.

    Raises:
        UserError: the run wants several machines, and nobody starts it on the others.
    """
    if (count := machines(trainer)) == 1:
        return {}
    if PARTY not in os.environ:
        raise UserError(
            f"trainer.num_nodes={count}: only launcher=slurm starts one run on several machines; "
            "elsewhere the devices of a run are those of one (trainer.devices=)"
        )
    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    return {
        PARTY: os.environ[PARTY], "MASTER_ADDR": socket.gethostname(), "MASTER_PORT": str(port),
        _MACHINE: "0",
    }  # fmt: skip


def joined(folder: Path, party: str, machine: int) -> dict[str, str] | None:
    """The environment in which that machine's processes join the attempt that the party's first
    one has begun; None before it has."""
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
        meeting = json.loads((folder / BEGUN).read_text()).get("meeting") or {}
        if meeting.get(PARTY) == party:
            return {**meeting, _MACHINE: str(machine)}
    return None
