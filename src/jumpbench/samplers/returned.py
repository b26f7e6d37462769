"""What a sampler of one's own returned, refused with one line where it is no state."""

from typing import Any

import torch
from torch import Tensor

from jumpbench.errors import UserError


def check_form(sampler: Any, x: Any, shape: tuple[int, ...], dtype: torch.dtype | None) -> None:
    """``x`` is a tensor of that shape, of that type or, with None, of any integers.

    Raises:
        UserError: it is something else.
    """
    asked = f"{'integers' if dtype is None else dtype} {shape}"
    if not isinstance(x, Tensor):
        raise UserError(f"{name_of(sampler)} returned {type(x).__name__}, not {asked}")
    fits = x.dtype == dtype if dtype else not (x.is_floating_point() or x.is_complex())
    if x.shape != shape or not fits:
        raise UserError(f"{name_of(sampler)} returned {x.dtype} {tuple(x.shape)}, not {asked}")


def check_symbols(sampler: Any, x: Tensor, n_states: int) -> None:
    """All symbols are in 0..n_states-1. It reads the device once.

    Raises:
        UserError: one is not.
    """
    if wrong := foreign_symbol(x, n_states):
        raise UserError(f"{name_of(sampler)} {wrong}")


def foreign_symbol(x: Tensor, n_states: int) -> str:
    """What to say of symbols of x that are none of 0..n_states-1; empty if there are none."""
    if not x.numel():
        return ""
    low, high = map(int, torch.stack(torch.aminmax(x)).tolist())
    wrong, last = low if low < 0 else high, n_states - 1
    return "" if 0 <= wrong <= last else f"returned the symbol {wrong}; there are 0 to {last}"


def name_of(sampler: Any) -> str:
    """Of a function, or of the class of an object."""
    return getattr(sampler, "__name__", type(sampler).__name__)
