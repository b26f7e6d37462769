"""A GPU without values: every operation checks shapes, types and devices, and computes nothing."""

import contextlib
import sys
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from jumpbench import seeding


class FakeGenerator(torch.Generator):
    """Says that it is on the GPU; fake operations do not look inside."""

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", 0)


# Answers to questions about values, for which a GPU would be waited for.
_ANSWERS = {"__bool__": False, "__float__": 1.0, "__int__": 1, "__index__": 1, "item": 1}


def _place():
    """The line of the package that asks."""
    frame = sys._getframe(1)
    while frame is not None and "/jumpbench/" not in frame.f_code.co_filename:
        frame = frame.f_back
    if frame is None:
        return "elsewhere"
    file = frame.f_code.co_filename.rpartition("/jumpbench/")[2]
    return f"{file}: {frame.f_code.co_qualname}"


@contextlib.contextmanager
def fake_gpu() -> Iterator[list[str]]:
    """Inside, ``device="cuda"`` works, and mixing it with tensors of the CPU raises.

    Who asks for values on it is noted in the list, by file and function.
    """
    asked: list[str] = []

    def answering(value: Any) -> Any:
        def answer(self: Tensor, *_: Any, **__: Any) -> Any:
            if self.is_cuda:
                asked.append(_place())
            return value(self) if callable(value) else value

        return answer

    real, gpu = seeding.make_generator, FakeGenerator()

    def make_generator(seed: int, *names: Any, device: Any = "cpu") -> torch.Generator:
        return gpu if torch.device(device).type == "cuda" else real(seed, *names)

    users = [m for m in list(sys.modules.values()) if getattr(m, "make_generator", None) is real]
    exponential = Tensor.exponential_
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    with contextlib.ExitStack() as stack:
        stack.callback(torch.__future__.set_overwrite_module_params_on_conversion, False)
        for user in users:
            stack.enter_context(mock.patch.object(user, "make_generator", make_generator))
        answers = {name: answering(value) for name, value in _ANSWERS.items()}
        stack.enter_context(mock.patch.multiple(Tensor, **answers))
        # The fake form knows no generator.
        stack.enter_context(
            mock.patch.object(Tensor, "exponential_", lambda z, *_, **__: exponential(z))
        )
        stack.enter_context(mock.patch("torch.binomial", lambda count, p, generator: count * p))
        stack.enter_context(mock.patch("torch.cuda.current_device", lambda: 0))
        not_here = "torch.cuda.amp.common.amp_definitely_not_available"
        stack.enter_context(mock.patch(not_here, lambda: False))
        stack.enter_context(mock.patch("torch.cuda.is_bf16_supported", lambda: True))
        # Asked at every operation, and each time it looks for a driver.
        stack.enter_context(mock.patch("torch.cuda.is_available", lambda: False))
        for name in ("torch.equal", "torch.allclose"):
            stack.enter_context(mock.patch(name, answering(True)))
        stack.enter_context(mock.patch("torch.unique", answering(lambda z: z.flatten()[:7])))
        stack.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        yield asked
