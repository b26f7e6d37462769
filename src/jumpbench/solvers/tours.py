"""Closed tours of points in the plane: their length, and one way to write each.

Coordinates are (B, n, 2) floats, tours (B, n) long index tensors that visit every node
once; the edge from the last node back to the first is implied.
"""

import torch
from torch import Tensor


def tour_length(coords: Tensor, tours: Tensor) -> Tensor:
    """Closed length (..., ) of tours (..., n) over ``coords`` (..., n, 2), in float64.

    Leading dimensions broadcast, so many tours of one instance need no copies of it.
    """
    coords = coords.double()
    shape = torch.broadcast_shapes(coords.shape[:-2], tours.shape[:-1])
    index = tours.expand(*shape, -1)[..., None].expand(*shape, -1, 2)
    ordered = coords.expand(*shape, *coords.shape[-2:]).gather(-2, index)
    return (ordered - ordered.roll(-1, dims=-2)).norm(dim=-1).sum(-1)


def canonical_tour(tours: Tensor) -> Tensor:
    """The same closed tours, rotated to start at node 0 and with second node < last node.

    A tour and its reversal have one length; this picks one of the 2n ways to write each.
    """
    n = tours.shape[-1]
    start = (tours == 0).int().argmax(dim=-1, keepdim=True)
    steps = torch.arange(n, device=tours.device)
    forward = tours.gather(-1, (start + steps) % n)
    backward = tours.gather(-1, (start - steps) % n)
    return torch.where(forward[..., 1:2] <= forward[..., -1:], forward, backward)
