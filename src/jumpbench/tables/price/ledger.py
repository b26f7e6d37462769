"""Counting without computing: every operator of a pass, on tensors without memory."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from jumpbench.tables.price.operators import Work, is_view, kind_of, tensors_in, work_of

_FILLED = {"empty", "zeros", "ones", "full", "empty_strided"}
SMALL = 100_000
"""Elements up to which an operator on known values alone is really done."""


class TooLong(Exception):
    """A trace takes longer than it may."""

    def __init__(self) -> None:
        super().__init__("too many operators to go through")


class Ledger(TorchDispatchMode):
    """Adds up the work of every operator inside, on tensors without memory (device ``meta``).

    Small tensors that are made of plain numbers keep their values, so that a grid of times is what
    it is. All others have none, and what is asked about them is answered: a number is 1; ``all`` is
    true, and every other flag false, so that no check raises; a selection by a mask takes
    everything.

    Args:
        seconds: of this process, after which :class:`TooLong` is raised.

    ``largest`` is the most bytes that an operator reads and writes.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.work = Work()
        self.largest = 0.0
        self.counting = True
        self._end = time.process_time() + seconds
        self._known: dict[Any, Any] = {}

    @contextlib.contextmanager
    def apart(self) -> Iterator[Work]:
        """What is done inside is counted apart: in this object's ``work``, until it ends."""
        outside, self.work = self.work, Work()
        try:
            yield self.work
        finally:
            self.work = outside

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if time.process_time() > self._end:
            raise TooLong
        name = func._overloadpacket.__name__
        tensors = list(tensors_in(args))
        if kwargs:
            tensors += tensors_in(list(kwargs.values()))
        hollow = any(t.is_meta for t in tensors) or kind_of(name) in ("random", "drawn")
        if hollow or sum(t.numel() for t in tensors) > SMALL or (not tensors and name in _FILLED):
            if name in _ANSWERS:
                return _ANSWERS[name](*args, **kwargs)  # type: ignore[operator]
            args = _hollow(args)
            kwargs = {k: None if k == "generator" else _hollow(v) for k, v in kwargs.items()}
            if "device" in kwargs or not tensors:
                kwargs["device"] = "meta"
            if not is_view(func):
                return self._cached(func, name, args, kwargs)
        return self._done(func, name, args, kwargs)[0]

    def _cached(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        """As an earlier call with tensors of the same shapes: torch takes a tenth of a millisecond
        to find out what comes of an operator."""
        key = (func, _shape(args), _shape(tuple(kwargs.items())))
        if (known := self._known.get(key)) is None:
            out, work = self._done(func, name, args, kwargs)
            first = args[0] if args else None
            if isinstance(out, Tensor):
                made = "first" if out is first else (out.shape, out.stride(), out.dtype)
                if out is not kwargs.get("out"):
                    self._known[key] = (made, work, getattr(out, "is_true", False))
            return out
        made, work, is_true = known
        if self.counting:
            self.work += work
        if made == "first":
            return args[0]
        out = torch.empty_strided(made[0], made[1], dtype=made[2], device="meta")
        if is_true:
            out.is_true = True  # type: ignore[attr-defined]
        return out

    def _done(self, func: Any, name: str, args: Any, kwargs: Any) -> tuple[Any, Work]:
        try:
            out = func(*args, **kwargs)
        except NotImplementedError:  # torch has no such kernel for tensors without memory
            out = torch.empty_like(args[0])
        work = work_of(func, name, args, kwargs, out)
        self.largest = max(self.largest, work.bytes)
        if self.counting:
            self.work += work
        if name == "all" and isinstance(out, Tensor):
            out.is_true = True  # type: ignore[attr-defined]
        return out, work


def _shape(value: Any) -> Any:
    if isinstance(value, Tensor):
        return (value.shape, value.stride(), value.dtype)
    if isinstance(value, list | tuple):
        return tuple(map(_shape, value))
    return value


def _hollow(value: Any) -> Any:
    """The same without memory; numbers in the form of a tensor stay."""
    if isinstance(value, Tensor):
        return value if value.is_meta or not value.dim() else value.to("meta")
    if isinstance(value, list | tuple):
        return type(value)(map(_hollow, value))
    return value


def _number(value: Tensor) -> Any:
    if value.dtype == torch.bool:
        return getattr(value, "is_true", False)
    return 1.0 if value.dtype.is_floating_point else 1


def _places(x: Tensor) -> Tensor:
    return torch.empty((x.numel(), x.dim()), dtype=torch.long, device="meta")


def _indexed(x: Tensor, index: list[Tensor | None]) -> Tensor:
    """A mask takes every position that it may select."""
    masks = (torch.bool, torch.uint8)
    found: list[Tensor | None] = []
    for i in index:
        if i is not None and i.dtype in masks:
            every = torch.empty(i.numel(), dtype=torch.long, device="meta")
            found += [every] * i.dim()
        else:
            found.append(i)
    return torch.ops.aten.index.Tensor(_hollow(x), _hollow(found))


def _unique(x: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    places = torch.empty(x.numel(), dtype=torch.long, device="meta")
    return x.flatten(), places, places


_ANSWERS = {
    "_local_scalar_dense": _number,
    "equal": lambda *args: True,
    "allclose": lambda *args, **kwargs: True,
    "nonzero": _places,
    "masked_select": lambda x, mask: x.new_empty(mask.numel()),
    "_unique2": _unique,
}
