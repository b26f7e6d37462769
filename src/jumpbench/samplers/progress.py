"""How far a long draw is, for whoever listens; nothing else depends on it.

    with listening(tell):                     # tell(share), 0 <= share <= 1
        for part in reported(parts, len(parts)):
            for t in reported(times, len(times)):
                ...

A loop inside another one divides the share of the outer one's present round. Without a listener
the items are just passed on.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")
Listener = Callable[[float], None]

_PRESENT: ContextVar[tuple[Listener, float, float] | None] = ContextVar("present", default=None)
"""The listener, and from which share to which the present round goes."""


@contextmanager
def listening(tell: Listener | None) -> Iterator[None]:
    """Inside, ``tell`` hears the share of the outermost loop that is done, at every round of any
    loop; None: nobody listens."""
    outer = _PRESENT.set(None if tell is None else (tell, 0.0, 1.0))
    try:
        yield
    finally:
        _PRESENT.reset(outer)


def reported(items: Iterable[Item], total: int) -> Iterator[Item]:
    """The ``total`` items of a loop, one after the other; the listener hears how far it is."""
    present = _PRESENT.get()
    if present is None:
        yield from items
        return
    tell, low, high = present
    step = (high - low) / max(total, 1)
    for number, item in enumerate(items):
        begin = low + number * step
        tell(begin)
        _PRESENT.set((tell, begin, begin + step))
        yield item
        _PRESENT.set(present)
