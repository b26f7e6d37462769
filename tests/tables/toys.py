"""Tiny methods and tables on which the engine is tested."""

import hashlib
import json
import os
import signal
import time
from pathlib import Path

import torch
from lightning import Callback, LightningDataModule
from torch.utils.data import DataLoader

from jumpbench.artifacts import load_artifacts
from jumpbench.data.batches import numbered_loader
from jumpbench.errors import DataMissing
from jumpbench.evaluations.base import Evaluation
from jumpbench.methods.common.base import Method
from jumpbench.samplers.draws import Draws

METHODS = Path(__file__)


class Steps(LightningDataModule):
    """``n`` steps of training data that depend on the step alone, one test batch."""

    def __init__(self, n: int = 8, missing: bool = False, train_batch_size: int = 1) -> None:
        super().__init__()
        self.n, self.missing = n, missing

    def prepare_data(self) -> None:
        if self.missing:
            raise DataMissing("toy: put toy.txt into data/toy")

    def train_dataloader(self) -> DataLoader:
        return DataLoader(range(self.n), batch_size=1)

    def test_dataloader(self) -> DataLoader:
        return numbered_loader(torch.tensor, 1, self.trainer)


class Heads(Evaluation):
    """Share of heads, on top of the mean of the run that is needed, if any."""

    def __init__(self, source=None) -> None:
        self.source = source

    def reset(self) -> None:
        self.flips = []

    def update(self, draws, kept) -> None:
        self.flips.append(draws.samples.double())

    def results(self):
        flips = torch.cat(self.flips)
        self.mean = float(flips.mean())
        if self.source is not None:
            self.mean += load_artifacts(self.source)["mean"]
        return {"mean": self.mean, "floor": 0.5 / len(flips) ** 0.5}

    def artifacts(self):
        return {"mean": self.mean}


class Coin(Method):
    """Mean of coin flips; ``trace`` counts how often the run was made.

    That of bias ``doomed`` is killed while it draws.
    """

    def __init__(
        self, bias=0.5, n_samples=1000, seed=0, sleep=0.0, fail="", source=None, doomed=None
    ) -> None:
        super().__init__(seed, Heads(source))
        self.doomed = bias == doomed
        self.bias, self.n_samples, self.sleep, self.fail = bias, n_samples, sleep, fail

    def draw(self, batch, generator):
        if trace := os.environ.get("TOY_TRACE"):
            with open(trace, "a") as file:
                file.write(f"{self.bias} {self.seed}\n")
        time.sleep(self.sleep)
        if self.doomed:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fail:
            raise RuntimeError(self.fail)
        flips = torch.rand(self.n_samples, generator=generator) < self.bias
        return Draws(flips.long())


class Walk(Method):
    """A parameter that walks at random: any difference between resumed and not is visible."""

    def __init__(self, seed=0, sleep=0.0, fails_on=None) -> None:
        super().__init__(seed)
        self.position = torch.nn.Parameter(torch.zeros(4))
        self.sleep, self.fails_on = sleep, fails_on

    def training_step(self, batch, index):
        time.sleep(self.sleep)
        if self.global_rank == self.fails_on:
            raise RuntimeError(os.environ.get("WORDS", "no, not here"))
        force = torch.randn(4, generator=self.generator("force"))
        loss = ((self.position - force) ** 2).sum()
        self.log("train/loss", loss.detach())
        return loss

    def draw(self, batch, generator):
        return Draws(self.position.detach()[:, None])

    def further_results(self):
        return {"mean": self.position.double().sum()}

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.1)


class Curve(Callback):
    """The losses of this process, and digests of its weights before and after, in a file."""

    def __init__(self, folder) -> None:
        self._folder, self._losses = Path(folder), []

    def on_train_start(self, trainer, module):
        self._start = digest(module)

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        loss = outputs["loss"] if outputs else trainer.callback_metrics["train/loss"]
        self._losses.append(float(loss))

    def on_train_end(self, trainer, module):
        content = {"losses": self._losses, "start": self._start, "weights": digest(module)}
        (self._folder / f"rank{trainer.global_rank}.json").write_text(json.dumps(content))


def digest(module):
    weights = b"".join(p.detach().numpy().tobytes() for p in module.parameters())
    return hashlib.sha256(weights).hexdigest()


class Dies(Callback):
    """Ends the first process behind a step, the first time that it gets there."""

    def __init__(self, step) -> None:
        self.step = step

    def on_train_batch_end(self, trainer, *_) -> None:
        mark = Path(trainer.default_root_dir) / "died"
        if trainer.is_global_zero and trainer.global_step == self.step and not mark.exists():
            mark.touch()
            os._exit(9)


EXPERIMENT = """\
# @package _global_
name: {name}
data: {{_target_: toys.Steps, n: 8, missing: false}}
method: {{_target_: toys.{kind}, seed: "${{seed}}"{more}}}
"""

TABLE = """\
title: Toy
about: Coins of several biases.
cost: A
figures: []
metrics:
  mean: {label: mean, better: lower, digits: 2, perfect: floor, seed_std: 0.02}
experiment: toy/coin
rows:
  - {name: fair, overrides: [method.bias=0.5]}
  - {name: biased, overrides: [method.bias=0.9]}
  - {name: walk, ours: true, experiment: toy/walk, only: [small n]}
  - {name: elsewhere, cited: true}
columns:
  - {name: small n, overrides: []}
  - {name: large n, overrides: [method.n_samples=4000], vars: {n: 4000}}
published:
  mean:
    fair: {small n: 0.5, large n: 0.5}
    biased: {small n: 0.7, large n: {value: 0.9, std: 0.01}}
    elsewhere: {small n: 0.1}
scales:
  smoke: {note: one seed, seeds: 1}
  small: {note: two seeds, seeds: 2, compare: true}
  paper: {seeds: 3}
claims:
  - {id: lowest, text: The fair coin is lowest., check: {best: {row: fair}}}
  - {id: none, text: Nobody can check this., reason: no numbers}
"""


def write_project(folder: Path) -> None:
    """A conf and a reproduce folder with the toy experiments and tables."""
    experiments = folder / "conf" / "experiment" / "toy"
    experiments.mkdir(parents=True)
    tables = folder / "reproduce" / "toy"
    tables.mkdir(parents=True)
    coin = ', bias: 0.5, n_samples: 500, sleep: 0.0, fail: "", source: null'
    (experiments / "coin.yaml").write_text(EXPERIMENT.format(name="coin", kind="Coin", more=coin))
    walk = EXPERIMENT.format(name="walk", kind="Walk", more=", sleep: 0.0")
    fit = "stages: [fit, test]\ncheckpoint_every: 2\ntrainer: {max_steps: 20}\n"
    (experiments / "walk.yaml").write_text(walk + fit)
    second = EXPERIMENT.format(name="second", kind="Coin", more=coin.replace("null", "x"))
    second = second.replace("source: x", 'source: "${needs.first.folder}"')
    needs = 'needs: {first: {experiment: toy/coin, overrides: ["method.bias=0.25"]}}\n'
    (experiments / "second.yaml").write_text(second + needs)
    (tables / "coins.yaml").write_text(TABLE)


def table_json(project: Path, scale: str = "smoke", outputs: str = "outputs") -> dict:
    """The coins' ``table.json``."""
    return json.loads((project / outputs / "tables/toy/coins" / scale / "table.json").read_text())


def reads_all(filled):
    """A figure that reads every finished run."""
    for row in filled.rows:
        for column in filled.columns:
            filled.metrics(row, column)


def means(filled):
    """A figure of what finished runs measured beside what the table shows."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 1))
    places = [(row, column) for row in filled.rows for column in filled.columns]
    numbers = [m["mean"] for place in places for m in filled.metrics(*place)]
    figure.subplots().plot(numbers)
    return figure
