"""A run's networks, gradients and draws on a device beside the same ones on the CPU.

One stream of random numbers, drawn on the CPU, serves both sides (:class:`HostDraws`), so that what
is left between them is rounding: outputs of networks and gradients differ by a small part of their
norm, and of the states that samplers end in nearly all are equal (a decision that two roundings
take apart changes a whole chain).
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from jumpbench.tables.price.passes import Trace, batch_of, prepared
from jumpbench.tables.price.stand_ins import no_other_runs

TOLERANCE = {"float32": 1e-3, "bfloat16": 0.1, "gradients": 5e-3, "draws": 0.05}
"""Largest differences: of networks' outputs by the type that they compute in and of gradients,
as parts of their norms; of the draws, the share of states that are not equal."""
_NETWORKS = "jumpbench.networks"


class HostDraws(TorchDispatchMode):
    """Inside, every random operator draws on the CPU, whatever the device of its result."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = func._overloadpacket.__name__
        if torch.Tag.nondeterministic_seeded not in func.tags or "attention" in name:
            return func(*args, **kwargs)
        if kwargs.get("generator") is not None:
            kwargs["generator"] = self._generator
        filled = kwargs.get("out", args[0] if func._schema.is_mutable else None)
        tensors = [x for x in (filled, *args) if isinstance(x, Tensor)]
        device = kwargs.get("device") or (tensors[0].device if tensors else "cpu")
        if "device" in kwargs:
            kwargs["device"] = "cpu"
        args, kwargs = tree_map(_on_cpu, (args, kwargs))
        out = func(*args, **kwargs)
        if filled is not None:
            return filled.copy_(out)
        return tree_map(lambda x: x.to(device) if isinstance(x, Tensor) else x, out)


def _on_cpu(x: Any) -> Any:
    return x.detach().cpu() if isinstance(x, Tensor) else x


@contextlib.contextmanager
def first_calls() -> Iterator[dict[nn.Module, tuple[Any, Any]]]:
    """The first call of each network of the package inside: {network: (arguments, keywords)}."""
    calls: dict[nn.Module, tuple[Any, Any]] = {}
    original = nn.Module.__call__
    inside: list[nn.Module] = []

    def call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        if not type(module).__module__.startswith(_NETWORKS):
            return original(module, *args, **kwargs)
        if not inside:
            calls.setdefault(module, (args, kwargs))
        inside.append(module)
        try:
            return original(module, *args, **kwargs)
        finally:
            inside.pop()

    with mock.patch.object(nn.Module, "__call__", call):
        yield calls


@dataclass
class Outcome:
    """What one side computed, on the CPU."""

    networks: dict[str, dict[str, list[Tensor]]] = field(default_factory=dict)  # by type
    gradients: list[Tensor] = field(default_factory=list)
    draws: dict[str, Tensor] = field(default_factory=dict)


def batches_of(config: dict[str, Any]) -> dict[str, tuple[Any, float]]:
    """The first batch of each stage of a run, and how many there are; for both sides, as loaders
    may go on where they were."""
    with no_other_runs():
        data, _, trainer = prepared(config)
        return {stage: batch_of(data, trainer, stage) for stage in config["stages"]}


def on_device(
    config: dict[str, Any], batches: dict[str, tuple[Any, float]], device: str
) -> Iterator[tuple[str, Trace, Any]]:
    """(stage, method and trainer, batch) of a run on a device, with weights that are nowhere zero:
    layers that begin at zero would hide what is before them."""
    data, method, trainer = prepared(config)
    if data is not None:
        data.trainer = trainer
    for stage in config["stages"]:
        method.setup(stage)
    for weight in method.parameters():
        weight.data += 0.02 * torch.randn(weight.shape).to(weight)
    method.to(device)
    for stage, (batch, _) in batches.items():
        method.train(stage == "fit")
        trainer.training, trainer.testing = stage == "fit", stage == "test"
        batch = tree_map(lambda x: x.to(device) if isinstance(x, Tensor) else x, batch)
        if data is not None:
            batch = data.on_after_batch_transfer(batch, 0)
        yield stage, Trace(method, trainer, config), batch


def outcome(
    config: dict[str, Any], batches: dict[str, tuple[Any, float]], device: str, half: bool
) -> Outcome:
    """One training step and one test batch of a run.

    Args:
        half: the networks' outputs in bfloat16 too.
    """
    found = Outcome()
    with no_other_runs(), torch.random.fork_rng(devices=[]), HostDraws():
        torch.manual_seed(0)
        for stage, trace, batch in on_device(config, batches, device):
            with first_calls() as calls:
                if stage == "fit":
                    found.gradients = _gradients(trace, batch)
                else:
                    trace.method.on_test_start()
                    drawn = drawn_of(trace.method, batch)
                    each = drawn if isinstance(drawn, dict) else {"": drawn}
                    found.draws = {way: d.samples.cpu() for way, d in each.items()}
            for network, given in calls.items():
                for name in ("float32", "bfloat16")[: 1 + half]:
                    outputs = _outputs(network, given, device, name == "bfloat16")
                    found.networks.setdefault(type(network).__name__, {})[name] = outputs
    return found


@torch.no_grad()
def drawn_of(method: Any, batch: Any) -> Any:
    return method.draw(batch, method.test_generator(0))


def _gradients(trace: Trace, batch: Any) -> list[Tensor]:
    """Gradients of the first step of every optimiser."""
    trace.begin()
    found: dict[int, list[Tensor]] = {}

    def note(optimiser: Any, *_: Any) -> None:
        weights = [p for group in optimiser.param_groups for p in group["params"]]
        kept = [p.grad.detach().cpu().clone() for p in weights if p.grad is not None]
        found.setdefault(id(optimiser), kept)

    for optimiser in trace.optimisers:
        optimiser.register_step_post_hook(note)
    trace.step(batch, 0)
    return [gradient for kept in found.values() for gradient in kept]


@torch.no_grad()
def _outputs(network: nn.Module, given: Any, device: str, half: bool) -> list[Tensor]:
    training = network.training
    network.eval()
    with torch.autocast(device.partition(":")[0], torch.bfloat16, enabled=half):
        out = network(*given[0], **given[1])
    network.train(training)
    return [x.detach().float().cpu() for x in tree_leaves(out) if isinstance(x, Tensor)]


def differences(here: Outcome, there: Outcome) -> dict[str, tuple[float, float]]:
    """By what is compared, the difference of two sides and how large it may be."""
    found = {}
    for network, types in there.networks.items():
        for name, outputs in types.items():
            exact = here.networks[network]["float32"]
            found[f"{network}, {name}"] = (_apart(exact, outputs), TOLERANCE[name])
    if there.gradients:
        found["gradients"] = (_apart(here.gradients, there.gradients), TOLERANCE["gradients"])
    for way, samples in there.draws.items():
        mine = here.draws[way]
        same = mine.shape == samples.shape and bool((mine == samples).all())
        unequal = 0.0 if same else float((mine != samples).double().mean())
        found[f"draws {way}".strip()] = (unequal, TOLERANCE["draws"])
    return found


def _apart(mine: list[Tensor], theirs: list[Tensor]) -> float:
    """Norm of the difference as a part of the norm; infinite where shapes differ, or what is
    infinite or none."""
    square = apart = 0.0
    for x, y in zip(mine, theirs, strict=True):
        finite = x.isfinite()
        if x.shape != y.shape or not torch.equal(finite, y.isfinite()):
            return float("inf")
        square += float(x[finite].double().square().sum())
        apart += float((x[finite].double() - y[finite].double()).square().sum())
    return (apart / square if square else apart) ** 0.5
