"""SEDD with the uniform process, on ordered lists of integers taken as plain sequences."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from jumpbench.data.lists import Batch
from jumpbench.evaluations.base import Evaluation
from jumpbench.methods.common.score_training import ScoreTraining
from jumpbench.processes.permutations import apply
from jumpbench.processes.schedules import LogLinear
from jumpbench.processes.uniform import UniformProcess


class Sedd(ScoreTraining):
    """Score-entropy discrete diffusion (Lou et al. 2024) of sequences of length n, vocabulary n.

    Trained on the ordered lists of the batches, with log-linear noise. The test stage draws as many
    sequences as there are test lists, to be judged by
    :class:`~jumpbench.evaluations.lists.SequenceEvaluation`.

    Args:
        network: states (B, n) and noise (B,) -> log-scores (B, n, N).
        n_states: N.
        steps: analytic (Tweedie) steps of the sampler; one denoising step follows.
    """

    def __init__(
        self,
        network: nn.Module,
        n_states: int,
        optimizer: Callable[[Any], Optimizer],
        scheduler: Callable[[Optimizer], LRScheduler] | None = None,
        steps: int = 128,
        evaluation: Evaluation | None = None,
        seed: int = 0,
    ) -> None:
        process, schedule = UniformProcess(n_states), LogLinear()
        super().__init__(
            network, process, optimizer, scheduler, schedule, steps, 0, evaluation, seed
        )

    def clean_states(self, batch: Batch) -> Tensor:
        return apply(batch["order"], batch["objects"])
