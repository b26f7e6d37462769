"""What two devices do differently by design, made alike while their results are compared."""

import contextlib
import functools
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from jumpbench.methods.symmetric_diffusers.distributions import generalised_sampling
from jumpbench.ops import binomial
from jumpbench.samplers.clusters import swendsen_wang
from jumpbench.samplers.clusters.labels import labels_by_propagation

_GPU = torch.device("cuda")


class HostDraws(TorchDispatchMode):
    """Inside, every random operator draws on the CPU, whatever the device of its result."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = func._overloadpacket.__name__
        if torch.Tag.nondeterministic_seeded not in func.tags or "attention" in name:
            return func(*args, **kwargs)
        # By name or by place, as binomial draws have it.
        args, kwargs = tree_map(self._ours, (args, kwargs))
        filled = kwargs.get("out", args[0] if func._schema.is_mutable else None)
        tensors = [x for x in (filled, *args) if isinstance(x, Tensor)]
        device = kwargs.get("device") or (tensors[0].device if tensors else "cpu")
        if "device" in kwargs:
            kwargs["device"] = "cpu"
        args, kwargs = tree_map(_on_cpu, (args, kwargs))
        out = func(*args, **kwargs)
        if filled is not None:
            return filled.copy_(out)
        return tree_map(lambda x: x.to(device) if isinstance(x, Tensor) else x, out)

    def _ours(self, x: Any) -> Any:
        return self._generator if isinstance(x, torch.Generator) else x


@contextlib.contextmanager
def one_way() -> Iterator[None]:
    """Inside, what is done otherwise on a GPU is done so on a CPU too: labels of clusters, binomial
    draws, and those of generalised Plackett-Luce laws. Attention, whose kernels draw their own
    dropout, drops nothing."""
    attention, blocks = functional.scaled_dot_product_attention, generalised_sampling.row_blocks

    @functools.wraps(attention)
    def whole(*args: Any, **kwargs: Any) -> Tensor:
        return attention(*args[:4], **kwargs | {"dropout_p": 0.0})

    instead: dict[tuple[Any, str], Any] = {
        (functional, "scaled_dot_product_attention"): whole,
        (swendsen_wang, "cluster_labels"): lambda right, down: (
            labels_by_propagation(right, down), right.numel()
        ),
        (binomial, "_LARGEST_MEAN"): 0.0,
        (generalised_sampling, "exponentials_are_plain"): lambda scores: False,
        (generalised_sampling, "row_blocks"): lambda n, lists, device: blocks(n, lists, _GPU),
    }  # fmt: skip
    with contextlib.ExitStack() as stack:
        for (module, name), value in instead.items():
            stack.enter_context(mock.patch.object(module, name, value))
        yield


def _on_cpu(x: Any) -> Any:
    return x.detach().cpu() if isinstance(x, Tensor) else x
