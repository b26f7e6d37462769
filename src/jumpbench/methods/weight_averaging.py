"""Exponential moving averages of weights by Lightning's own callback, with a ramp."""

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import WeightAveraging
from torch import Tensor


class RampedWeightAveraging(WeightAveraging):
    """After training the module holds the average; update n decays by min(decay, (1+n)/(10+n)).

    All tensors of a device are updated together, without reading anything back.
    """

    def __init__(self, decay: float = 0.9999) -> None:
        super().__init__(use_buffers=False, multi_avg_fn=self._average)
        self.decay = decay

    @torch.no_grad()
    def _average(self, averages: list[Tensor], current: list[Tensor], count: Tensor | int) -> None:
        count = torch.as_tensor(count, dtype=torch.float32)
        share = 1 - torch.clamp((1 + count) / (10 + count), max=self.decay)
        change = torch._foreach_sub(current, averages)
        torch._foreach_mul_(change, share.to(averages[0].device))
        torch._foreach_add_(averages, change)

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        # A run that was stopped between its last step and the end of training has no step left to
        # take, and Lightning then ends without putting the average in place.
        if self._average_model is not None:
            self._copy_average_to_current(pl_module)
