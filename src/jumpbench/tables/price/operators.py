"""What one operator takes, in units that depend on no machine.

Matrix products and convolutions count floating-point operations, by the formulas of torch's
``FlopCounterMode``; every other operator counts the bytes that it reads and writes, and elements
where one takes longer than to move it (``slow``: exponentials and logarithms; ``random``: uniform
and normal numbers and the masks of dropout; ``drawn``: numbers of any other law;
``gathered``: sorts, look-ups). What goes over images by windows, convolutions beside their
operations and pooling, counts the elements of its larger side (``windowed``): of few channels a
convolution takes several times as long as its operations. Attention counts its scores beside its
operations (``attended``), at least ``HEAD`` a head. Views move nothing.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.utils.flop_counter import flop_registry

KINDS = {
    "drawn": ("exponential", "multinomial", "binomial", "poisson"),
    "random": ("rand", "uniform", "random", "bernoulli", "normal_", "dropout"),
    "gathered": ("gather", "scatter", "index", "embedding", "sort", "topk", "cumsum", "cumprod",
                 "searchsorted", "unique", "nonzero", "bucketize"),
    "slow": ("exp", "log", "erf", "gelu", "silu", "sigmoid", "tanh", "softmax", "softplus", "pow",
             "sin", "cos", "sqrt", "lgamma", "norm", "remainder"),
    "windowed": ("pool2d",),
}  # fmt: skip
"""Parts of the names of operators that take longer than to move their elements."""
_MADE = {"detach", "alias", "empty_like", "new_empty", "lift_fresh", "empty", "empty_strided"}
HEAD = 1000
"""Scores of a head of few sites, which takes as long as one of thirty; a backward pass takes two
and a half times as long."""


@dataclass
class Work:
    """What operators take, in units that depend on no machine."""

    flops: float = 0.0  # of matrix products
    convolved: float = 0.0  # of convolutions
    bytes: float = 0.0
    slow: float = 0.0
    random: float = 0.0
    drawn: float = 0.0
    gathered: float = 0.0
    windowed: float = 0.0
    attended: float = 0.0
    operators: float = 0.0
    views: float = 0.0
    saved: float = 0.0  # bytes that autograd keeps for the backward pass

    def __add__(self, other: "Work") -> "Work":
        theirs = vars(other)
        return Work(**{name: value + theirs[name] for name, value in vars(self).items()})

    def __iadd__(self, other: "Work") -> "Work":  # in place: whoever counts apart holds this one
        mine = self.__dict__
        for name, value in other.__dict__.items():
            if value:
                mine[name] += value
        return self

    def __mul__(self, factor: float) -> "Work":
        return Work(**{name: value * factor for name, value in vars(self).items()})

    def __sub__(self, other: "Work") -> "Work":
        return self + other * -1.0

    def positive(self) -> "Work":
        return Work(**{name: max(value, 0.0) for name, value in vars(self).items()})


def work_of(func: Any, name: str, args: Any, kwargs: Any, out: Any) -> Work:
    """What one operator takes."""
    if func._overloadpacket in flop_registry:
        formula = flop_registry[func._overloadpacket]
        flops = float(formula(*args, **kwargs, out_val=out))
        if "conv" not in name:
            return Work(operators=1, flops=flops)
        sides = args[:2] if "backward" in name else (args[0], out)
        windowed = float(max(side.numel() for side in sides))
        return Work(operators=1, convolved=flops, windowed=windowed)
    if name in _MADE or is_view(func):
        return Work(views=1)
    results = list(tensors_in(out))
    every = [*tensors_in(args), *results]
    work = Work(
        operators=len(args[0]) if name.startswith("_foreach") else 1,
        bytes=sum(t.numel() * t.element_size() for t in every),
    )
    if name == "_safe_softmax":  # of attention alone
        work.attended = _attended(results[0])
    elif name == "_softmax_backward_data" and results[0].dim() == 4:
        work.attended = 2.5 * _attended(results[0])
    elif kind := kind_of(name):
        counted = results[:1] if kind == "gathered" else every
        setattr(work, kind, max((t.numel() for t in counted), default=0))
    return work


def _attended(scores: Tensor) -> float:
    """Of scores (batch, heads, sites, sites)."""
    heads = scores.shape[:-2].numel()
    return float(heads * max(scores.shape[-2:].numel(), HEAD))


@functools.cache
def kind_of(name: str) -> str:
    return next((k for k, parts in KINDS.items() if any(p in name for p in parts)), "")


@functools.cache
def is_view(func: Any) -> bool:
    """Whether an operator gives another look at its argument's memory."""
    return any(r.alias_info is not None and not r.alias_info.is_write for r in func._schema.returns)


def tensors_in(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from tensors_in(inner)
