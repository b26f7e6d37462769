"""Modules that are called again and again with the same shapes are traced once."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from lightning import LightningModule
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from jumpbench.tables.price.ledger import Ledger
from jumpbench.tables.price.operators import Work

_PLAIN = (bool, int, float, str, type(None), torch.dtype, torch.device)


@dataclass
class _Traced:
    forward: Work
    backward: Work
    makes: Callable[[], tuple[list[Any], Any]]
    used: list[bool]  # which inputs and parameters get a gradient


@contextlib.contextmanager
def traced_once(ledger: Ledger) -> Iterator[None]:
    """Inside, a module's second call with inputs of the same kind costs what the first one did, and
    gives new tensors of the same shapes; gradients reach inputs and parameters as zeros."""
    with mock.patch.object(nn.Module, "__call__", _Calls(ledger).call):
        yield


class _Calls:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._original = ledger, nn.Module.__call__
        self._known: dict[Any, _Traced | None] = {}
        self._inside = False
        self._modules: list[nn.Module] = []  # kept, so that no other one gets their id

    @property
    def call(self) -> Callable[..., Any]:
        def call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            return self._called(module, args, kwargs)

        return call

    def _called(self, module: nn.Module, args: Any, kwargs: Any) -> Any:
        leaves, spec = tree_flatten((args, kwargs))
        plain = all(isinstance(leaf, (Tensor, *_PLAIN)) for leaf in leaves)
        if self._inside or not plain or _is_transformed() or isinstance(module, LightningModule):
            return self._original(module, *args, **kwargs)
        key = (
            id(module), str(spec), module.training, torch.is_grad_enabled(),
            torch.is_autocast_enabled("cpu"), *map(_kind, leaves),
        )  # fmt: skip
        weights = [p for p in module.parameters() if p.requires_grad]
        if key not in self._known:
            self._modules.append(module)
            self._known[key] = self._trace(module, leaves, spec, weights)
        if (traced := self._known[key]) is None:
            return self._original(module, *args, **kwargs)
        tensors = [x for x in leaves if isinstance(x, Tensor)]
        return self._replayed(traced, [*tensors, *weights])

    def _trace(
        self, module: nn.Module, leaves: list[Any], spec: Any, weights: Sequence[Tensor]
    ) -> _Traced | None:
        inputs = [
            x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x
            for x in leaves
        ]
        args, kwargs = tree_unflatten(inputs, spec)
        tensors = [x for x in inputs if isinstance(x, Tensor)]
        wanted = [x for x in (*tensors, *weights) if x.requires_grad]
        self._inside = True
        try:
            with self._ledger.apart() as forward, counting_saved(forward, weights):
                out = self._original(module, *args, **kwargs)
            outs, outs_spec = tree_flatten(out)
            if not all(isinstance(x, (Tensor, *_PLAIN)) for x in outs):
                return None
            ends = [x for x in outs if isinstance(x, Tensor) and x.requires_grad]
            grads: list[Any] = [None] * len(wanted)
            with self._ledger.apart() as backward:
                if ends and wanted:
                    ones = [torch.ones_like(x) for x in ends]
                    grads = list(torch.autograd.grad(ends, wanted, ones, allow_unused=True))
        finally:
            self._inside = False
        reached = {id(x) for x, g in zip(wanted, grads, strict=True) if g is not None}
        kinds = [(x.shape, x.dtype) if isinstance(x, Tensor) else x for x in outs]

        def makes() -> tuple[list[Any], Any]:
            made = [
                torch.empty(k[0], dtype=k[1], device="meta") if isinstance(k, tuple) else k
                for k in kinds
            ]
            return made, outs_spec

        used = [id(x) in reached for x in (*tensors, *weights)]
        return _Traced(forward, backward, makes, used)

    def _replayed(self, traced: _Traced, tensors: list[Tensor]) -> Any:
        self._ledger.work += traced.forward
        self._ledger.counting = False
        try:
            made, spec = traced.makes()
            if any(traced.used):
                places = [i for i, x in enumerate(made) if isinstance(x, Tensor)]
                outs = _Replay.apply(self._ledger, traced, [made[i] for i in places], *tensors)
                for place, out in zip(places, outs, strict=True):
                    made[place] = out
        finally:
            self._ledger.counting = True
        return tree_unflatten(made, spec)


class _Replay(torch.autograd.Function):
    """Outputs that depend on the inputs and weights, as far as autograd can tell."""

    @staticmethod
    def forward(ctx: Any, ledger: Ledger, traced: _Traced, outs: list, *tensors: Tensor) -> Any:
        ctx.ledger, ctx.traced = ledger, traced
        ctx.like = [(x.shape, x.dtype) for x in tensors]
        ctx.mark_non_differentiable(*(x for x in outs if not x.dtype.is_floating_point))
        return tuple(outs)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        ctx.ledger.work += ctx.traced.backward
        ctx.ledger.counting = False
        try:
            zeros = [
                torch.zeros(shape, dtype=dtype, device="meta") if used else None
                for (shape, dtype), used in zip(ctx.like, ctx.traced.used, strict=True)
            ]
        finally:
            ctx.ledger.counting = True
        return (None, None, None, *zeros)


@contextlib.contextmanager
def counting_saved(work: Work, weights: Sequence[Tensor]) -> Iterator[None]:
    """Adds to ``work.saved`` the bytes that autograd keeps inside; weights do not count."""
    seen = {w.untyped_storage()._cdata for w in weights}

    def pack(x: Tensor) -> Tensor:
        storage = x.untyped_storage()
        if storage._cdata not in seen:
            seen.add(storage._cdata)
            work.saved += storage.nbytes()
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        yield


def _kind(leaf: Any) -> Any:
    if isinstance(leaf, Tensor):
        return (tuple(leaf.shape), leaf.dtype, leaf.requires_grad)
    return leaf


def _is_transformed() -> bool:
    """Whether torch.func is at work, whose tensors wrap others."""
    return torch._C._functorch.peek_interpreter_stack() is not None
