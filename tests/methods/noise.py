"""A method whose draws are noise: any change of who draws what, or when, is visible."""

import os
import sys
import time
from pathlib import Path

import torch
from lightning import LightningDataModule, Trainer

from jumpbench.data.batches import numbered_loader
from jumpbench.evaluations.base import Evaluation
from jumpbench.methods.common.base import Method
from jumpbench.methods.common.shards import Shards
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws


class Offsets(LightningDataModule):
    """Batch i holds the offset i and its size."""

    def __init__(self, count: int = 5) -> None:
        super().__init__()
        self.count = count

    def test_dataloader(self):
        return numbered_loader(
            lambda i: {"offset": torch.full((3 + i,), i)}, self.count, self.trainer
        )


class Mean(Evaluation):
    """Sums in an order that rounding remembers."""

    def keep(self, batch):
        return {"offset": batch["offset"]}

    def reset(self):
        self.total = torch.zeros((), dtype=torch.float64)

    def update(self, draws, kept):
        values = draws.extras["noise"].double() * 10.0 ** kept["offset"]
        self.total = self.total * 1.1 + values.sum()

    def results(self):
        return {"mean": float(self.total)}

    def artifacts(self):
        return {"total": self.total}


class Noise(Method):
    """``ways``: names of ways to draw, or none."""

    def __init__(self, ways=(), seed=0, pause=0.0):
        super().__init__(seed, Mean())
        self.ways, self.pause = ways, pause
        self.drawn = []

    def draw(self, batch, generator):
        time.sleep(self.pause)
        n = len(batch["offset"])
        self.drawn.append(int(batch["offset"][0]))

        def one():
            noise = torch.randn(n, generator=generator)
            samples = torch.randint(5, (n, 2), generator=generator)
            return Draws(samples, noise, Cost(4.0, 2.0, 4.0), {"noise": noise})

        return {way: one() for way in self.ways} if self.ways else one()


def run_noise(devices=1, folder=None, pause=0.0, **settings):
    """Results and artifacts of a test stage; on rank 0 also into ``folder/results.pt``."""
    method = Noise(pause=pause, **settings)
    method.shards = Shards(folder and Path(folder) / "draws")
    trainer = Trainer(
        accelerator="cpu", devices=devices, logger=False, enable_progress_bar=False,
        enable_model_summary=False, enable_checkpointing=False, barebones=False,
        strategy="ddp" if devices > 1 else "auto",
    )  # fmt: skip
    trainer.test(method, Offsets(), verbose=False)
    if folder and trainer.is_global_zero:
        torch.save((method.results, method.artifacts), Path(folder) / "results.pt")
    return method


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    run_noise(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
