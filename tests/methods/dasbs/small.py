"""A DASBS of perceptrons on tiny systems, and its training."""

from functools import partial

import torch
from lightning import Trainer
from lightning.pytorch.callbacks import ModelCheckpoint

from jumpbench.data.numbers import Numbers
from jumpbench.evaluations.lattice import TargetEvaluation
from jumpbench.methods.dasbs.matcher import Matcher
from jumpbench.methods.dasbs.module import DASBS
from jumpbench.networks.state_perceptron import StatePerceptron
from jumpbench.processes.schedules import ModifiedLogLinear

SMALL = {"pairs": 64, "times": 4, "buffer_size": 256, "refresh_every": 10}
ADAM = partial(torch.optim.AdamW, lr=2e-3, weight_decay=0.0)


def make(target, memoryless=False, hidden=64, steps=(500, 250), corrector=None, **changes):
    """A small DASBS; ``steps`` of the two phases, ``corrector`` changes its matcher alone."""
    names = [*SMALL, "matching", "reweight", "optimizer"]
    both = {"optimizer": ADAM} | SMALL | {k: changes.pop(k) for k in names if k in changes}
    network = partial(StatePerceptron, hidden=hidden)
    settings = {
        "schedule": ModifiedLogLinear(1.0, 0.0 if memoryless else 0.5),
        "controller": partial(Matcher, network=network, steps=steps[0], **both),
        "start": 0.01 if memoryless else 0.0,
        "n_steps": 20,
        "evaluation": TargetEvaluation(target),
    }
    if not memoryless:
        both = both | {"matching": None} | (corrector or {})
        network = partial(network, harmonics=None)
        settings["corrector"] = partial(Matcher, network=network, steps=steps[1], **both)
    return DASBS(target, **(settings | changes))


def train(method, steps, resume=None, checkpoint=None, every=None):
    callbacks = []
    if checkpoint:
        callbacks = [ModelCheckpoint(checkpoint, "last", every_n_train_steps=every, save_top_k=1)]
    trainer = Trainer(
        max_steps=steps,
        max_epochs=-1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=bool(callbacks),
        callbacks=callbacks,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(method, Numbers(), ckpt_path=resume)
    return trainer
