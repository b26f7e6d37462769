"""Where runs are made: one interface, one implementation per place."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from jumpbench.errors import UserError
from jumpbench.tables.names import no_such
from jumpbench.tables.plan import Run

_LATER = ("ray", "slurm")


class Events(Protocol):
    """What a launcher reports while it works; all of it may be ignored."""

    def started(self, run: Run) -> None: ...
    def progress(self, run: Run, stage: str, done: int, total: int | None) -> None: ...
    def finished(self, run: Run) -> None: ...
    def failed(self, run: Run, message: str) -> None: ...
    def waiting(self, run: Run) -> None: ...
    def noted(self, run: Run, message: str) -> None: ...


# run hash -> {"table": ..., "row": ..., "column": ..., "scale": ...}
Labels = Mapping[str, dict[str, Any]]


class Launcher(Protocol):
    """Makes runs that are not made yet.

    ``runs`` come in an order in which every run stands behind its needs. A launcher returns when
    each of them is finished or has failed; one failure never stops the others, and a run that
    another process is making is waited for, not made twice. ``labels`` go to experiment loggers.
    """

    def launch(self, runs: Sequence[Run], events: Events, labels: Labels) -> None: ...


def launcher(name: str) -> Launcher:
    """The launcher of that name.

    Raises:
        UserError: unknown, or not part of this version.
    """
    if name == "serial":
        from jumpbench.tables.launchers.serial import Serial

        return Serial()
    if name in _LATER:
        raise UserError(f"launcher={name} is not part of this version; use launcher=serial")
    raise no_such("launcher", name, ("serial", *_LATER))
