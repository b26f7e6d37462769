"""Refusing numbers that are none, without stalling an accelerator."""

import torch
from torch import Tensor


def require(condition: Tensor, message: str) -> None:
    """Raises ``ValueError(message)`` unless ``condition`` is True everywhere.

    On an accelerator the check is queued (reading the answer at every step would wait for the
    device): a violation ends the process with the device's own assertion error.
    """
    holds = condition.all()
    if holds.device.type == "cpu":
        if not bool(holds):
            raise ValueError(message)
    else:
        torch._assert_async(holds, message)
