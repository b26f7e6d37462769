"""Feynman-Kac steering with the maximum potential (Singhal et al. 2025)."""

import torch
from torch import Tensor

from jumpbench.methods.sgdd.baselines.smc import SMC


class FKMax(SMC):
    """SMC with weights exp(tau (m_t - m_{t+1})), m_t the largest L along a particle's ancestry.

    A particle is not punished for a value that fell, so good ancestors are not lost by one bad
    clean draw. The paper gives neither its strength nor its particles.
    """

    def remembered(self, parent: Tensor, value: Tensor) -> Tensor:
        return torch.maximum(parent, value)
