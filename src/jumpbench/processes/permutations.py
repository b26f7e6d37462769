"""Permutations as index arrays: the group conventions that everything else relies on.

A permutation is an integer tensor (..., n) holding each of ``0..n-1`` once. It acts on an
ordered list by gathering, ``(Q_sigma X)[i] = X[sigma[i]]``, which is a *right* action: if
``X_t = X_0[perm_t]``, one more step by sigma gives ``perm_{t+1} = perm_t[sigma]``
(SymmetricDiffusers, arXiv 2410.02942, section 2).
"""

from itertools import permutations

import torch
from torch import Tensor


def identity(*batch_shape: int, n: int, device: torch.device | str | None = None) -> Tensor:
    """The identity, ``(*batch_shape, n)``, as an expanded (read-only) view."""
    return torch.arange(n, device=device).expand(*batch_shape, n)


def compose(first: Tensor, then: Tensor) -> Tensor:
    """``first[then]`` along the last axis: ``result[..., j] = first[..., then[..., j]]``.

    Leading axes broadcast. With ``first = perm_t`` and ``then = sigma`` this is ``perm_{t+1}``.
    """
    shape = torch.broadcast_shapes(first.shape, then.shape)
    return first.expand(shape).gather(-1, then.expand(shape))


def inverse(permutation: Tensor) -> Tensor:
    """The inverse, by scattering positions: ``inverse[permutation[i]] = i``. Shape kept."""
    positions = torch.arange(permutation.shape[-1], device=permutation.device)
    return torch.empty_like(permutation, dtype=torch.long).scatter_(
        -1, permutation.long(), positions.expand(permutation.shape)
    )


def apply(permutation: Tensor, objects: Tensor) -> Tensor:
    """Reorder ``objects (..., n, *features)`` by ``permutation`` (..., n): ``X[sigma]``.

    Leading axes of the permutation and of the objects must be equal.
    """
    batch = permutation.ndim
    index = permutation.reshape(permutation.shape + (1,) * (objects.ndim - batch))
    return objects.gather(batch - 1, index.expand(objects.shape))


def reverse_target(later: Tensor, earlier: Tensor) -> Tensor:
    """sigma' that takes the state ``later`` back to ``earlier``: ``later^{-1} o earlier``.

    ``sigma'[j]`` is the position in ``X_later`` of the object that must stand at position j of
    ``X_earlier``, so ``compose(later, sigma') = earlier``.
    """
    return compose(inverse(later), earlier)


def descents(permutation: Tensor) -> Tensor:
    """Number of positions with ``p[i] > p[i+1]``, shape (...)."""
    return (permutation[..., :-1] > permutation[..., 1:]).sum(-1)


def rising_sequences(permutation: Tensor) -> Tensor:
    """Maximal runs of consecutive values in increasing position order: 1 + descents of the inverse.

    Counting the descents of the permutation itself agrees for n <= 3 only.
    """
    return 1 + descents(inverse(permutation))


def random_permutations(*batch_shape: int, n: int, generator: torch.Generator) -> Tensor:
    """Independent uniform permutations ``(*batch_shape, n)`` on the generator's device.

    The sort keys are 63-bit integers: among n of them a tie, the only source of bias, has
    probability below ``n^2 2^-64``.
    """
    keys = torch.randint(2**63 - 1, (*batch_shape, n), generator=generator, device=generator.device)
    return keys.argsort(-1)


def all_permutations(n: int) -> Tensor:
    """All n! permutations in lexicographic order, ``(n!, n)``. For n <= 9."""
    if not 1 <= n <= 9:
        raise ValueError(f"all_permutations enumerates n = 1..9, not n = {n}")
    return torch.tensor(list(permutations(range(n))))


def lexicographic_rank(permutation: Tensor) -> Tensor:
    """Row of each permutation in :func:`all_permutations`, (...) (Lehmer code, n <= 20)."""
    n = permutation.shape[-1]
    rank = torch.zeros_like(permutation[..., 0])
    for i in range(n - 1):
        smaller_later = (permutation[..., i + 1 :] < permutation[..., i : i + 1]).sum(-1)
        rank = rank * (n - i) + smaller_later
    return rank


def is_permutation(candidate: Tensor) -> Tensor:
    """True where the last axis holds each of 0..n-1 once, shape (...)."""
    n = candidate.shape[-1]
    return (candidate.sort(-1).values == torch.arange(n, device=candidate.device)).all(-1)


def check_permutations(candidate: Tensor, name: str = "permutation") -> None:
    """Raise a ValueError that names the first row which is not a permutation.

    Reads the data back to the host: for the boundaries (files, metrics), not for step loops.
    """
    if candidate.ndim == 0 or candidate.shape[-1] == 0:
        raise ValueError(f"{name} needs a last axis of n >= 1 indices, got {candidate.shape}")
    if candidate.is_floating_point() or candidate.is_complex() or candidate.dtype == torch.bool:
        raise ValueError(f"{name} must hold integers, got {candidate.dtype}; use .long()")
    wrong = ~is_permutation(candidate)
    if not wrong.any():
        return
    row = candidate[wrong][0].tolist()
    outside = [v for v in row if not 0 <= v < len(row)]
    repeated = sorted({v for v in row if row.count(v) > 1})
    fault = (
        f"index {outside[0]} is outside 0..{len(row) - 1}"
        if outside
        else (f"index {repeated[0]} is repeated")
    )
    raise ValueError(
        f"{name} is not a permutation of 0..{len(row) - 1}: {fault} in {row[:12]}"
        f" ({int(wrong.sum())} of {wrong.numel()} rows are wrong)"
    )
