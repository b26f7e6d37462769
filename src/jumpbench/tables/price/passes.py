"""One run, traced: the work of its training steps and of its test batches."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from jumpbench.errors import UserError
from jumpbench.tables.planning.gate import construct
from jumpbench.tables.price.ledger import Ledger, TooLong, Work
from jumpbench.tables.price.repeated import counting_saved, traced_once

SECONDS = 60.0
PLAIN_STEPS = 6
WINDOW = 100


@dataclass
class Count:
    fit: Work = field(default_factory=Work)
    test: Work = field(default_factory=Work)
    steps: float = 0
    batches: float = 0
    weights: float = 0  # bytes
    optimiser: float = 0
    activations: float = 0


class _Trainer(SimpleNamespace):
    """As much of a trainer as a method asks for."""

    world_size, global_step, global_rank, is_global_zero = 1, 0, 0, True
    training = testing = sanity_checking = False
    precision, current_epoch, lightning_module = "32-true", 0, None
    accumulate_grad_batches, gradient_clip_val, gradient_clip_algorithm = 1, None, None


def count(config: dict[str, Any], seconds: float = SECONDS) -> Count:
    """Count a run without making it."""
    trainer_config = config["trainer"]
    with _without_other_runs():
        data = construct(config["data"], "data") if config["data"] else None
        method = construct(config["method"], "method")
        steps = trainer_config.get("max_steps") or -1
        trainer = _Trainer(datamodule=data, max_steps=steps, estimated_stepping_batches=steps)
        method._trainer = trainer
        method.log = method.log_dict = lambda *args, **kwargs: None
        method.clip_gradients = _clip
        method.manual_backward = lambda loss, *args, **kwargs: loss.backward()
        batches = {}
        if data is not None:
            data.trainer = trainer
            data.prepare_data()
        for stage in config["stages"]:
            if data is not None:
                data.setup(stage)
            method.setup(stage)
            loader = data.train_dataloader() if stage == "fit" else data.test_dataloader()
            batches[stage] = (next(iter(loader)), _length(loader))
        found = Count()
        ledger = Ledger(seconds)
        with _fake(None):
            method._apply(lambda x: x.to("meta"))
        with ledger, traced_once(ledger), mock.patch.object(Tensor, "tolist", _tolist):
            for stage, (batch, length) in batches.items():
                method.train(stage == "fit")
                trainer.training, trainer.testing = stage == "fit", stage == "test"
                batch = tree_map(lambda x: x.to("meta") if isinstance(x, Tensor) else x, batch)
                if data is not None:
                    batch = data.on_after_batch_transfer(batch, 0)
                if stage == "fit":
                    _fit(method, trainer, batch, length, config, ledger, found)
                else:
                    with torch.no_grad():
                        method.on_test_start()
                        with ledger.apart() as work:
                            method.draw(batch, method.test_generator(0))
                            work = ledger.work
                    found.test, found.batches = work, length
    return found


def _fit(method, trainer, batch, length, config, ledger, found):
    optimisers = method.configure_optimizers()
    optimisers = _flat(optimisers)
    taken = [0]
    for o in optimisers:
        o.register_step_post_hook(lambda *args: taken.__setitem__(0, taken[0] + 1))
    method.optimizers = lambda *args: optimisers if len(optimisers) > 1 else optimisers[0]
    method.on_fit_start()
    steps = trainer.max_steps if trainer.max_steps > 0 else int((config["trainer"].get("max_epochs") or 1) * length)
    found.steps = steps

    weights = list(method.parameters())

    def one(at: int) -> tuple[Work, int]:
        trainer.global_step = at
        taken[0] = 0
        with ledger.apart():
            with counting_saved(ledger.work, weights):
                loss_done = _step(method, optimisers, batch, at, config)
            work = ledger.work
        found.activations = max(found.activations, work.saved)
        return work, max(taken[0], 1)

    places = [int(steps * f) for f in PLACES]
    places = sorted({at - at % 100 if at > 300 else at for at in places})
    every = _periods(method)
    means = []
    for at in places:
        events = Work()
        for owner, name, period in every:
            setattr(owner, name, 1)
            event, n = one(at)
            setattr(owner, name, period)
            if period > 1:
                events += event * (1 / period)
        plain, n = one(at + 1)
        mean = plain
        for owner, name, period in every:
            if period > 1:
                mean = mean + plain * (-1 / period)
        mean = mean + events
        mean = Work(**{k: max(v, vars(plain)[k]) for k, v in vars(mean).items()})
        means.append(mean * (1 / n))
        if len(means) == 2 and not every and vars(means[0]) == vars(means[1]):
            places = places[:2]
            break
    total = Work()
    for i, mean in enumerate(means):
        left = 0 if i == 0 else (places[i - 1] + places[i]) / 2
        right = steps if i == len(means) - 1 else (places[i] + places[i + 1]) / 2
        total += mean * (right - left)
    found.fit = total


PLACES = (0, 0.01, 0.05, 0.2, 0.4, 0.6, 0.8)


def _periods(method):
    return [
        (module, name, value)
        for module in method.modules()
        for name, value in vars(module).items()
        if name.endswith("_every") and isinstance(value, int) and not isinstance(value, bool)
    ]


def _step(method, optimisers, batch, index, config):
    if not method.automatic_optimization:
        method.training_step(batch, index)
        return
    optimiser = optimisers[0]

    def closure():
        optimiser.zero_grad()
        loss = method.training_step(batch, index)
        if isinstance(loss, dict):
            loss = loss["loss"]
        if loss is not None:
            loss.backward()
            method.configure_gradient_clipping(optimiser, config["trainer"].get("gradient_clip_val"))
        return loss

    method.optimizer_step(0, index, optimiser, closure)


def _clip(optimiser, gradient_clip_val=None, gradient_clip_algorithm=None):
    if gradient_clip_val:
        weights = [p for group in optimiser.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(weights, gradient_clip_val)


def _tolist(x):
    if not x.is_meta:
        return _real_tolist(x)
    def ones(shape):
        return [ones(shape[1:]) for _ in range(shape[0])] if shape else 1.0
    return ones(x.shape)


_real_tolist = Tensor.tolist


def _flat(found):
    if isinstance(found, dict):
        return [found["optimizer"]]
    if isinstance(found, (list, tuple)):
        if found and isinstance(found[0], (list, tuple)):
            return list(found[0])
        return [f["optimizer"] if isinstance(f, dict) else f for f in found]
    return [found]


def _length(loader):
    try:
        return len(loader)
    except TypeError:
        return float("inf")


@contextlib.contextmanager
def _fake(fakes):
    before = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        yield
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(before)


@contextlib.contextmanager
def _without_other_runs() -> Iterator[None]:
    from jumpbench import artifacts
    fake = {
        "load_weights": lambda network, *args, **kwargs: network,
        "trained_weights": lambda *args, **kwargs: {},
    }
    with contextlib.ExitStack() as stack:
        for name, value in fake.items():
            real = getattr(artifacts, name)
            for module in list(sys.modules.values()):
                if (getattr(module, "__name__", "") or "").startswith("jumpbench") and getattr(module, name, None) is real:
                    stack.enter_context(mock.patch.object(module, name, value))
        yield
