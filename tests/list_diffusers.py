"""Small diffusers of lists, and their training."""

from functools import partial

import torch
from lightning import Trainer, seed_everything

from jumpbench.evaluations.lists import ListEvaluation
from jumpbench.methods.common.learning_rates import InverseSquareRoot
from jumpbench.methods.symmetric_diffusers.distributions import (
    GeneralisedPlackettLuce,
)
from jumpbench.methods.symmetric_diffusers.module import SymmetricDiffuser
from jumpbench.methods.symmetric_diffusers.sampler import (
    Greedy,
)
from jumpbench.methods.symmetric_diffusers.transitions import WholeTrajectories
from jumpbench.networks.permutation_transformer import (
    PairScores,
    PermutationTransformer,
)
from jumpbench.processes.shuffles import Riffle

ADAMW = partial(
    torch.optim.AdamW, lr=1.0, weight_decay=1e-2, betas=(0.9, 0.98), eps=1e-9, fused=True
)


def diffuser(encoder, head=None, family=GeneralisedPlackettLuce, dim=16, layers=1, **options):
    seed_everything(0, verbose=False)
    network = PermutationTransformer(
        encoder(), head or PairScores("dummy"), dim, layers, 4, 2 * dim, options.pop("dropout", 0.1)
    )
    settings = {
        "shuffle": Riffle,
        "schedule": [0, 2, 7],
        "decoders": {"greedy": Greedy()},
        "optimizer": ADAMW,
        "scheduler": partial(InverseSquareRoot, peak=1e-3, warmup=50),
        "transitions": WholeTrajectories(1),
        "evaluation": ListEvaluation(),
    } | options
    return SymmetricDiffuser(settings.pop("network", network), family, **settings)


def trainer(steps, **options):
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    return Trainer(
        accelerator="cpu", max_steps=steps, max_epochs=-1, gradient_clip_val=1.0, **quiet | options
    )


def run(module, data, steps):
    loop = trainer(steps)
    loop.fit(module, datamodule=data)
    loop.test(module, datamodule=data, verbose=False)
    return module.results
