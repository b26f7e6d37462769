"""What takes the place of a trainer, of other runs, and of values while a run is traced."""

import contextlib
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor

from jumpbench import artifacts


class Trainer(SimpleNamespace):
    """As much of a trainer as a method asks for."""

    world_size, global_rank, is_global_zero, accumulate_grad_batches = 1, 0, True, 1
    training = testing = sanity_checking = False
    precision, current_epoch, global_step, lightning_module = "32-true", 0, 0, None


def fill_in(method: Any, trainer: Trainer) -> None:
    """What Lightning gives a method in training."""
    method._trainer = trainer
    method.log = method.log_dict = lambda *args, **kwargs: None
    method.manual_backward = lambda loss, *args, **kwargs: loss.backward()
    method.clip_gradients = _clip


def _clip(optimiser: Any, gradient_clip_val: Any = None, **kwargs: Any) -> None:
    if gradient_clip_val:
        weights = [p for group in optimiser.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(weights, gradient_clip_val)


@contextlib.contextmanager
def no_other_runs() -> Iterator[None]:
    """Weights of another run are not there yet, and their values do not matter."""
    instead = {
        "load_weights": lambda network, *args, **kwargs: network,
        "trained_weights": lambda *args, **kwargs: {},
    }
    ours = [m for name, m in list(sys.modules.items()) if name.startswith("jumpbench.")]
    with contextlib.ExitStack() as stack:
        for name, value in instead.items():
            real = getattr(artifacts, name)
            for module in ours:
                if getattr(module, name, None) is real:
                    stack.enter_context(mock.patch.object(module, name, value))
        yield


@contextlib.contextmanager
def no_values() -> Iterator[None]:
    """Inside, tensors without memory give lists and arrays, and the type of their device."""
    listed, array, autocast = Tensor.tolist, Tensor.numpy, torch.autocast

    def tolist(x: Tensor) -> Any:
        return _ones(x.shape) if x.is_meta else listed(x)

    def numpy(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not x.is_meta:
            return array(x, *args, **kwargs)
        return np.ones(x.shape, str(x.dtype).removeprefix("torch."))

    def cast(device: str, *args: Any, **kwargs: Any) -> Any:
        return autocast("cpu" if device == "meta" else device, *args, **kwargs)

    with (
        mock.patch.object(Tensor, "tolist", tolist),
        mock.patch.object(Tensor, "numpy", numpy),
        mock.patch("torch.autocast", cast),
    ):
        yield


def _ones(shape: torch.Size) -> Any:
    return [_ones(shape[1:]) for _ in range(shape[0])] if shape else 1.0


@contextlib.contextmanager
def hollow(method: torch.nn.Module) -> Iterator[None]:
    """The method's weights and buffers, without memory."""
    future = torch.__future__
    before = future.get_overwrite_module_params_on_conversion()
    future.set_overwrite_module_params_on_conversion(True)
    try:
        method._apply(lambda x: x.to("meta"))
        yield
    finally:
        future.set_overwrite_module_params_on_conversion(before)
