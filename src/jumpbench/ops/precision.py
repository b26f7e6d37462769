"""Which floating-point type probabilities and weights are kept in."""

import torch
from torch import Tensor


def at_least_single(x: Tensor) -> Tensor:
    """``x``, in float32 if it is a half type: networks under autocast return those."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
