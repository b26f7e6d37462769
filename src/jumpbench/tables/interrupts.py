"""SIGINT and SIGTERM: training stops behind a step and its checkpoint, anything else at once."""

import signal
import threading
from types import FrameType
from typing import Any

_HEARD = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """While it is entered, a first signal in training is a request; else KeyboardInterrupt.

    ``training`` says whether somebody looks at ``requested`` behind every step; a second signal
    does not wait for that. Only the main thread of a process hears signals.
    """

    def __init__(self) -> None:
        self.training = False
        self.requested = False
        self._before: dict[int, Any] = {}

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

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.training and not self.requested:
            self.requested = True
            return
        raise KeyboardInterrupt
