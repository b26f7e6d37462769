"""Beam search over the rows of a score matrix, in memory linear in width times n."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from jumpbench.methods.symmetric_diffusers.distributions.base import Hypotheses, check_width

# Elements (lists x width x n) of a work array: cached on CPU, a quarter of a gigabyte elsewhere.
CPU_CHUNK, DEVICE_CHUNK = 2**18, 2**26


def inner_beam(
    scores: Tensor, width: int, keep: int | None = None, batch_shape: Sequence[int] | None = None
) -> Hypotheses:
    """The best permutations of GPL(scores) that a beam of ``width`` finds, best first.

    ``scores`` (lists, n, n); at row i every hypothesis is extended by every column it has not
    used, with the log-softmax over those columns, and the ``width`` best of the joint list stay.
    (Restricting each hypothesis to its best ``width`` extensions first changes nothing.)

    Returns permutations ``(*batch_shape, W, n)`` and log-probabilities ``(*batch_shape, W)`` with
    ``W = min(keep, n!)``. Exact for ``width >= n!``.
    """
    keep = check_width(width, keep)
    lists, n, _ = scores.shape
    budget = CPU_CHUNK if scores.device.type == "cpu" else DEVICE_CHUNK
    chunk = max(1, budget // (width * n))
    keep = min(keep, math.factorial(n))
    permutations = torch.empty((lists, keep, n), dtype=torch.long, device=scores.device)
    log_probs = torch.empty((lists, keep), dtype=scores.dtype, device=scores.device)
    for start in range(0, lists, chunk):
        part = slice(start, start + chunk)
        _beam_of_chunk(scores[part], width, permutations[part], log_probs[part])
    shape = (lists,) if batch_shape is None else tuple(batch_shape)
    return Hypotheses(permutations.view(*shape, keep, n), log_probs.view(*shape, keep))


def _beam_of_chunk(scores: Tensor, width: int, permutations: Tensor, log_probs: Tensor) -> None:
    lists, n, _ = scores.shape
    base = torch.arange(lists, device=scores.device).unsqueeze(-1)
    left = torch.arange(n, device=scores.device).expand(lists, 1, n)  # columns not used yet
    totals = scores.new_zeros((lists, 1))
    parents, columns = [], []
    for i in range(n):
        hypotheses, m = left.shape[1:]
        row = scores[:, i, None, :].expand(lists, hypotheses, n)
        joint = row.gather(-1, left).log_softmax(-1)
        joint += totals.unsqueeze(-1)
        # nan: nothing is left that this row allows, so the hypothesis dies.
        joint.nan_to_num_(nan=-math.inf, posinf=math.inf, neginf=-math.inf)
        survivors = min(width, hypotheses * m)
        totals, best = joint.flatten(1).topk(survivors, sorted=i == n - 1)
        parents.append(best.div(m, rounding_mode="floor"))
        columns.append(left.flatten(1).gather(1, best))
        if m > 1:
            # The last column takes the place of the used one.
            source = (parents[-1] + base * hypotheses).flatten()
            moved = left.reshape(-1, m).index_select(0, source).view(lists, survivors, m)
            place = (best - parents[-1] * m).unsqueeze(-1)
            left = moved.scatter_(-1, place, moved[..., -1:].clone())[..., :-1].contiguous()
    keep = log_probs.shape[1]
    log_probs.copy_(totals[:, :keep])
    pointer = torch.arange(keep, device=scores.device).expand(lists, keep)
    for i in reversed(range(n)):
        permutations[..., i] = columns[i].gather(1, pointer)
        pointer = parents[i].gather(1, pointer)
    dead = (log_probs == -math.inf).unsqueeze(-1)
    permutations.copy_(torch.where(dead, permutations[:, :1], permutations))
