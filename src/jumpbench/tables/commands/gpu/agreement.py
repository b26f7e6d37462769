"""A run's networks, gradients and draws on a device beside the same ones on the CPU.

One stream of random numbers, drawn on the CPU, serves both sides
(:mod:`~jumpbench.tables.commands.gpu.alike`), so that what is left between them is rounding:
outputs of networks and gradients differ by a small part of their norm, and of the states that
samplers end in nearly all are equal (a decision that two roundings take apart changes a whole
chain).
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import torch
from lightning.fabric.utilities.apply_func import move_data_to_device
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from jumpbench.tables.commands.gpu.alike import HostDraws, one_way
from jumpbench.tables.price.passes import batch_of, prepared
from jumpbench.tables.price.stand_ins import no_other_runs
from jumpbench.tables.price.trace import Trace

TOLERANCE = {"float32": 1e-3, "bfloat16": 0.1, "gradients": 5e-3, "draws": 0.05}
"""Largest differences: of networks' outputs by the type that they compute in and of gradients,
as parts of their norms; of the draws, the share of states that are not equal."""
_NETWORKS = "jumpbench.networks"


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
        batch = move_data_to_device(batch, torch.device(device))  # as Lightning does
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
    with no_other_runs(), one_way(), torch.random.fork_rng(devices=[]), HostDraws():
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
    """Gradients of the first step of every optimiser. The weights stay: where a gradient is zero up
    to rounding, a step of Adam is the sign of that rounding."""
    trace.begin()
    found: dict[int, list[Tensor]] = {}
    before: dict[int, list[Tensor]] = {}

    def keep(optimiser: Any, *_: Any) -> None:
        before[id(optimiser)] = [p.detach().clone() for p in _weights(optimiser)]

    def note(optimiser: Any, *_: Any) -> None:
        weights = _weights(optimiser)
        kept = [p.grad.detach().cpu().clone() for p in weights if p.grad is not None]
        found.setdefault(id(optimiser), kept)
        for weight, old in zip(weights, before[id(optimiser)], strict=True):
            weight.data.copy_(old)

    for optimiser in trace.optimisers:
        optimiser.register_step_pre_hook(keep)
        optimiser.register_step_post_hook(note)
    trace.step(batch, 0)
    return [gradient for kept in found.values() for gradient in kept]


def _weights(optimiser: torch.optim.Optimizer) -> list[Tensor]:
    return [p for group in optimiser.param_groups for p in group["params"]]


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
        unequal = 0.0 if same else float(_unequal(mine, samples).double().mean())
        found[f"draws {way}".strip()] = (unequal, TOLERANCE["draws"])
    return found


def _unequal(mine: Tensor, theirs: Tensor) -> Tensor:
    """Where states are not the same, or predictions not up to rounding."""
    if not mine.is_floating_point():
        return mine != theirs
    close = TOLERANCE["float32"]
    return ~torch.isclose(mine, theirs, rtol=close, atol=close, equal_nan=True)


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
