"""What a run takes, counted on stand-ins for its trainer and without values.

Its stages are traced by :mod:`~jumpbench.tables.price.trace`.
"""

import functools
import json
import warnings
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from jumpbench.tables.planning.gate import construct
from jumpbench.tables.price.ledger import Ledger
from jumpbench.tables.price.repeated import traced_once
from jumpbench.tables.price.stand_ins import Trainer, fill_in, hollow, no_other_runs, no_values
from jumpbench.tables.price.trace import Trace

SECONDS = 60.0
"""Of this process, that the trace of a run may take."""


@dataclass(frozen=True)
class Count:
    """What a run takes, on whatever machine."""

    work: dict[str, float]
    steps: float
    memory: dict[str, float]  # GiB, by what holds it


def count(config: dict[str, Any], seconds: float = SECONDS) -> Count:
    """The work of the run that a configuration describes.

    Raises:
        TooLong: a test batch or a training step has more operators than can be traced in the time.
        Exception: whatever a method raises that cannot go on without values.
    """
    with no_other_runs(), warnings.catch_warnings(action="ignore"):  # for the run's log
        data, method, trainer = prepared(config)
        batches = {stage: batch_of(data, trainer, stage) for stage in config["stages"]}
        for stage in config["stages"]:
            method.setup(stage)
        trace = Trace(method, trainer, config, Ledger(seconds))
        with hollow(method), trace.ledger, traced_once(trace.ledger), no_values():
            for stage, (batch, length) in batches.items():
                method.train(stage == "fit")
                trainer.training, trainer.testing = stage == "fit", stage == "test"
                batch = tree_map(lambda x: x.to("meta") if isinstance(x, Tensor) else x, batch)
                if data is not None:
                    batch = data.on_after_batch_transfer(batch, 0)
                trace.fit(batch, length) if stage == "fit" else trace.test(batch, length)
    return Count(asdict(trace.total), trace.steps, trace.memory())


def prepared(config: dict[str, Any]) -> tuple[Any, Any, Trainer]:
    """Data, method and what takes the place of a trainer."""
    data = _data(json.dumps(_first_items(config))) if config["data"] else None
    method = construct(_plain(config["method"]), "method")
    trainer = Trainer(datamodule=data, max_steps=int(config["trainer"].get("max_steps") or -1))
    fill_in(method, trainer)
    return data, method, trainer


def _first_items(config: dict[str, Any]) -> dict[str, Any]:
    """The data, with no more generated training items than a batch has where the number of steps
    is stated: solving 50,000 tours for their labels takes longer than all that is traced."""
    data = dict(config["data"])
    if data.get("train_size") and int(config["trainer"].get("max_steps") or -1) > 0:
        batch = int(data.get("train_batch_size") or data["train_size"])
        data["train_size"] = min(int(data["train_size"]), batch)
    return data


def _plain(node: Any) -> Any:
    """A configuration whose optimisers are not fused, which they are on real devices alone, and
    whose networks are not compiled."""
    if isinstance(node, list):
        return [_plain(value) for value in node]
    if not isinstance(node, dict):
        return node
    return {k: False if k in ("fused", "compile") else _plain(v) for k, v in node.items()}


@functools.lru_cache(4)
def _data(config: str) -> Any:
    """Several runs of a table have the same data, which may take longer to read than to count."""
    data = construct(json.loads(config), "data")
    data.prepare_data()
    return data


def batch_of(data: Any, trainer: Trainer, stage: str) -> tuple[Any, float]:
    """The first batch of a stage, and how many there are."""
    if data is None:
        return torch.tensor(0), 1.0
    data.trainer = trainer
    data.setup(stage)
    loader = data.train_dataloader() if stage == "fit" else data.test_dataloader()
    try:
        length = float(len(loader))
    except TypeError:  # endless
        length = float("inf")
    return next(iter(loader)), length
