"""This machine's processor: seconds per unit of every kind of work, by doing a little of each."""

import copy
import logging
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader

from jumpbench.tables.price.ledger import Ledger
from jumpbench.tables.price.machines import Machine

_ROWS, _WIDTH = 2048, 128  # a megabyte: what the networks here work on at a time


def measured(name: str) -> Machine:
    """Time each kind of work."""
    n = _ROWS * _WIDTH
    x, w = torch.randn(_ROWS // 8, _WIDTH), torch.randn(_WIDTH, 4 * _WIDTH)
    product = _least(lambda: x @ w) / (2 * x.numel() * 4 * _WIDTH)
    flat, other = torch.rand(n), torch.rand(n)
    index, part = torch.randint(n, (n // 16,)), torch.empty(n // 16)
    moved = _least(lambda: torch.add(flat, other)) / (12 * n)
    generator = torch.Generator()

    def beyond(function: Callable[[], Any], each: int) -> float:
        return max(_least(function) / len(part) - each * moved, 0.0)

    operator = _operator()
    return Machine(
        name, product, moved, operator,
        slow=beyond(lambda: torch.exp(flat[: len(part)]), 8),
        random=beyond(lambda: part.exponential_(generator=generator), 4),
        gathered=beyond(lambda: torch.gather(flat, 0, index), 16),
        views=operator / 4, steps=_step(),
    )  # fmt: skip


def _least(function: Callable[[], Any], seconds: float = 0.3) -> float:
    """Seconds of the quickest of many calls; on one thread this thread's own, whatever else runs."""
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    function()
    end, least, calls = clock() + seconds, float("inf"), 0
    while calls < 10 or clock() < end:
        began = clock()
        function()
        least, calls = min(least, clock() - began), calls + 1
    return least


def _operator() -> float:
    """Of an operator on hardly any data: a training step of a transformer, per operator in it."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)

    def step(network: nn.Module, device: str) -> Callable[[], None]:
        optimiser, x = torch.optim.Adam(network.parameters()), torch.zeros(2, 4, 16, device=device)

        def take() -> None:
            optimiser.zero_grad()
            network(x).square().mean().backward()
            optimiser.step()

        return take

    ledger = Ledger(60.0)
    hollow = step(copy.deepcopy(layer).to("meta"), "meta")
    hollow()
    with ledger:
        hollow()
    seconds = _least(step(layer, "cpu"))
    return seconds / (ledger.work.operators + ledger.work.views / 4)


def _step() -> float:
    """Of Lightning, for a training step that does nothing."""
    from lightning import LightningModule, Trainer

    class Idle(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.automatic_optimization = False
            self.weight = nn.Parameter(torch.zeros(()))
            self.times: list[float] = []

        def training_step(self, batch: Any, index: int) -> None:
            self.times.append(time.thread_time())
            self.log("train/loss", 0.0)

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters())

    idle = Idle()
    speaks = logging.getLogger("lightning.pytorch")
    level = speaks.level
    speaks.setLevel(logging.ERROR)
    try:
        trainer = Trainer(
            accelerator="cpu", devices=1, max_epochs=1, logger=False, enable_progress_bar=False,
            enable_checkpointing=False, enable_model_summary=False,
        )  # fmt: skip
        trainer.fit(idle, DataLoader(range(300), batch_size=None))
    finally:
        speaks.setLevel(level)
    return min(b - a for a, b in zip(idle.times, idle.times[1:], strict=False))
