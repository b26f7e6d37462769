"""SIGINT and SIGTERM: training stops behind a step and its checkpoint, anything else at once."""

import signal
import threading
import time
from types import FrameType
from typing import Any

_HEARD = (signal.SIGINT, signal.SIGTERM)

ONE_REQUEST = 2.0
"""Seconds in which signals are one request: a terminal's SIGINT reaches every process of a run, and
the one that waits for the others sends them SIGTERM for it."""


class Interrupts:
    """While it is entered, a first signal in training is a request; else KeyboardInterrupt.

    ``training`` says whether somebody looks at ``requested`` behind steps; a second signal, a while
    later, does not wait for that. Only the main thread of a process hears signals.
    """

    def __init__(self) -> None:
        self.training = False
        self._requested: float | None = None
        self._before: dict[int, Any] = {}

    @property
    def requested(self) -> bool:
        return self._requested is not None

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            for number in _HEARD:
                before = signal.getsignal(number)
                if before is not signal.SIG_IGN:  # nohup, a shell's background
                    self._before[number] = before
                    signal.signal(number, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def end_if_asked(self, trainer: Any) -> None:
        """KeyboardInterrupt if a request came too late for a step of training to end at it; of
        several processes all end if one was asked."""
        asked = self.requested
        if trainer.world_size > 1:
            asked = trainer.strategy.reduce_boolean_decision(asked, all=False)
        if asked:
            raise KeyboardInterrupt

    def hear_alone(self) -> None:
        """Take signals back from whoever put a handler in front of this one (Lightning does: its
        own tells other processes by a collective call in the middle of whatever they do)."""
        for number in self._before:
            signal.signal(number, self._hear)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.training and (self._requested is None or now - self._requested < ONE_REQUEST):
            self._requested = self._requested or now
            return
        raise KeyboardInterrupt
