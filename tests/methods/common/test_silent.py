"""Trainers in a command's own process say nothing, and leave the loggers as they found them."""

import subprocess
import sys

TRAINING = """
import logging, sys, warnings
from lightning import LightningModule
from torch.utils.data import DataLoader
from jumpbench.methods.common.silent import silent_trainer
import contextlib

class Nothing(LightningModule):
    def test_step(self, batch, index):
        warnings.warn("slow")

before = logging.getLogger("lightning.pytorch").level
with (silent_trainer() if sys.argv[1] == "silent" else contextlib.nullcontext()) as trainer:
    if trainer is None:
        from lightning import Trainer
        trainer = Trainer(accelerator="cpu", logger=False)
    trainer.test(Nothing(), DataLoader([*range(3)]), verbose=False)
assert logging.getLogger("lightning.pytorch").level == before
"""


def said(way):
    done = subprocess.run(
        [sys.executable, "-c", TRAINING, way], capture_output=True, text=True, check=True
    )
    return done.stdout + done.stderr


def test_a_silent_trainer_says_nothing_where_another_does():
    assert "slow" in said("loud") and "TPU" in said("loud")
    assert said("silent") == ""
