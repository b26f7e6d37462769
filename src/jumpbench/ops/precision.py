"""Which floating-point types probabilities, weights and products are kept in."""

import torch
from torch import Tensor


def at_least_single(x: Tensor) -> Tensor:
    """``x``, in float32 if it is a half type: networks under autocast return those."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def use_tf32(wanted: bool) -> None:
    """Lets GPUs round, or not, the factors of products of float32 to TF32: matrix products and
    convolutions alike, of which torch by itself rounds the convolutions alone."""
    torch.backends.cuda.matmul.allow_tf32 = wanted
    torch.backends.cudnn.allow_tf32 = wanted
