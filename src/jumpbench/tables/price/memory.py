"""What a training holds in memory, from the shapes of its tensors."""

from typing import Any

from torch import Tensor, nn

GIB = 2.0**30


def memory(
    method: nn.Module, optimisers: list[Any], activations: float, kept: float
) -> dict[str, float]:
    """GiB of the weights (buffers with them), their gradients, the states of optimisers, what the
    backward pass needs of one batch with the largest operator's tensors (``activations``, bytes),
    and what else the method keeps between steps, such as roll-outs (``kept``, bytes)."""
    trained = [p for o in optimisers for g in o.param_groups for p in g["params"]]
    states = [s.values() for o in optimisers for s in o.state.values()]
    found = {
        "weights": sum(map(size, (*method.parameters(), *method.buffers()))),
        "gradients": sum(map(size, trained)),
        "optimiser": sum(size(x) for s in states for x in s if isinstance(x, Tensor)),
        "activations": activations,
        "kept": kept,
    }
    return {name: taken / GIB for name, taken in found.items()}


def size(x: Tensor) -> float:
    """Bytes of a tensor."""
    return float(x.numel() * x.element_size())


def held_by(method: nn.Module) -> float:
    """Bytes of the tensors in a method's attributes and in the objects of this package that it
    holds (a replay buffer of roll-outs, say), beside parameters and buffers."""
    seen: set[int] = {id(x) for x in (*method.parameters(), *method.buffers())}
    found = 0.0
    waiting: list[Any] = [method]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Tensor):
            found += size(value)
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
        elif isinstance(value, nn.Module) or type(value).__module__.startswith("jumpbench.methods"):
            waiting += getattr(value, "__dict__", {}).values()
    return found
