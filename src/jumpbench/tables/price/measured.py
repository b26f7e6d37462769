"""This machine's processor: seconds per unit of every kind of work, by doing a little of each."""

import copy
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention as attention
from torch.utils.data import DataLoader

from jumpbench.methods.common.silent import silent_trainer
from jumpbench.tables.price.ledger import Ledger
from jumpbench.tables.price.operators import Work

_ROWS, _WIDTH, _CHANNELS, _SIDE = 2048, 64, 64, 16  # what the networks here work on at a time
_FAR = 2**22  # elements that no cache holds: what a training step comes back to later


def measured() -> tuple[dict[str, float], bool]:
    """Time each kind of work; by the names in a machine
    (:class:`~jumpbench.tables.price.machines.Machine`).

    Threads wait for each other, so that on a busy machine several of them measure the waiting, up
    to hundreds of times the work. One thread's own time holds whatever else runs; several threads
    are taken to need no more than one, and no less than their share of it.

    Returns:
        The rates, and whether they last: not where several threads took longer than one over
        products of matrices, since then the machine was busy.
    """
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = _rates()
    finally:
        torch.set_num_threads(threads)
    if threads == 1:
        return alone, True
    together = _rates()
    rates = {
        kind: min(max(together[kind], seconds / threads), seconds)
        for kind, seconds in alone.items()
    }
    return rates, together["flops"] <= alone["flops"]


def _rates() -> dict[str, float]:
    """Seconds per unit of each kind of work, on the threads that torch has."""
    rows = torch.randn(_ROWS, _WIDTH, requires_grad=True)
    linear = nn.Linear(_WIDTH, 4 * _WIDTH)
    convolved, windowed = _over_images()
    n = _ROWS * _WIDTH
    far, other, flat = torch.rand(_FAR), torch.rand(_FAR), torch.rand(n)
    index, generator = torch.randint(n, (n,)), torch.Generator()
    moved = _least(lambda: torch.add(far, other, out=other)) / (12 * _FAR)
    operator = _operator()
    heads = torch.randn(64, 4, 64, 16)

    def beyond(function: Callable[[], Any]) -> float:
        return max(_least(function) - operator, 0.0) / n

    return {
        "flops": _both_ways(linear, rows) / _work_of(linear, rows).flops,
        "convolved": convolved,
        "windowed": windowed,
        "attended": _least(lambda: attention(heads, heads, heads)) / (64 * 4 * 64 * 64),
        "bytes": moved,
        "slow": beyond(lambda: torch.exp(flat)),
        "random": beyond(lambda: flat.bernoulli_(0.9, generator=generator)),
        "drawn": beyond(lambda: flat.exponential_(generator=generator)),
        "gathered": beyond(lambda: torch.gather(flat, 0, index)),
        "operators": operator,
        "views": operator / 4,
        "steps": _step(),
    }


def _over_images() -> tuple[float, float]:
    """Seconds of an operation of a convolution, and of an element under a window.

    Two equations: of many channels operations take the time, of one channel and in pooling elements
    do.
    """
    many = nn.Conv2d(_CHANNELS, _CHANNELS, 3, padding=1)
    one = nn.Sequential(nn.Conv2d(1, _CHANNELS // 2, 5, padding=2), nn.MaxPool2d(2))
    inputs = torch.randn(8, _CHANNELS, _SIDE, _SIDE, requires_grad=True), torch.randn(32, 1, 28, 28)
    took = [_both_ways(layer, x) for layer, x in zip((many, one), inputs, strict=True)]
    works = [_work_of(layer, x) for layer, x in zip((many, one), inputs, strict=True)]
    taken = torch.tensor([[w.convolved, w.windowed] for w in works], dtype=torch.float64)
    found = torch.linalg.solve(taken, torch.tensor(took, dtype=torch.float64)).clamp(min=0.0)
    return float(found[0]), float(found[1])


def _both_ways(layer: nn.Module, x: Tensor) -> float:
    """Seconds of a layer, forward and backward."""
    return _least(lambda: layer(x).sum().backward())


def _work_of(layer: nn.Module, x: Tensor) -> Work:
    """What that takes."""
    hollow = copy.deepcopy(layer).to("meta")
    x = torch.empty_like(x, device="meta", requires_grad=x.requires_grad)
    with Ledger(60.0) as ledger:
        hollow(x).sum().backward()
    return ledger.work


def _least(function: Callable[[], Any], seconds: float = 0.1) -> float:
    """Seconds of the quickest of many calls; on one thread its own, whatever else runs."""
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
    from lightning import LightningModule

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
    with silent_trainer(max_epochs=1) as trainer:
        trainer.fit(idle, DataLoader([*range(300)], batch_size=None))  # type: ignore[arg-type]
    return min(b - a for a, b in zip(idle.times, idle.times[1:], strict=False))
