"""A law given by its table, for tests and small exact studies."""

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.targets.base import Target


class Tabular(Target):
    """log nu(x) = table[x_1, ..., x_D], a tensor with D axes of length N.

    ``-inf`` excludes a state.

    Raises:
        UserError: axes of different lengths, NaN or ``+inf`` in the table, or no state left.
    """

    def __init__(self, log_table: Tensor) -> None:
        if log_table.ndim == 0 or len(set(log_table.shape)) != 1:
            raise UserError(
                f"the table needs D axes of the same length N, not shape {tuple(log_table.shape)}"
            )
        bad = log_table.isnan() | (log_table == torch.inf)
        if bad.any() or not log_table.isfinite().any():
            raise UserError("the table of log-probabilities must hold finite values or -inf")
        super().__init__(log_table.ndim, log_table.shape[0])
        self.log_table = log_table.detach().contiguous()

    def log_prob(self, x: Tensor) -> Tensor:
        return self.log_table.to(x.device)[x.long().unbind(-1)]

    def neighbor_log_ratios(self, x: Tensor) -> Tensor:
        strides = torch.tensor(self.log_table.stride(), device=x.device)
        symbol = torch.arange(self.n_states, device=x.device)
        index = (x.long() * strides).sum(-1)[..., None, None]
        index = index + (symbol - x.long().unsqueeze(-1)) * strides[:, None]
        ratios = self.log_table.to(x.device).view(-1)[index] - self.log_prob(x)[..., None, None]
        return ratios.masked_fill_(symbol == x.unsqueeze(-1), 0.0)
