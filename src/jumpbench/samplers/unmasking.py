"""Drawing states by unmasking one site after the other, in random order.

States of the chain are integers ``0..N``, ``N`` being the mask. A network maps them, (B, D), to
logits (B, D, N) of every masked site's conditional law given the visible sites; there is no
time.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from jumpbench.ops.categorical import sample_categorical

Logits = Callable[[Tensor], Tensor]


@torch.no_grad()
def unmask(
    logits: Logits, length: int, n_states: int, n_chains: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Draws ``n_chains`` states, one site at a time in a uniformly random order (``D`` calls).

    Returns:
        States (B, D) and ``sum_sites log q(symbol)``, (B,) float64: the probability of the
        draws given the order. The law of the order is the same for sampler and target, so
        ``E[nu(x) / q] = Z`` for any network and any target nu.
    """
    device = generator.device
    rows = torch.arange(n_chains, device=device)
    keys = torch.rand(n_chains, length, generator=generator, device=device)
    x = torch.full((n_chains, length), n_states, device=device)
    log_q = torch.zeros(n_chains, dtype=torch.float64, device=device)
    for site in keys.argsort(-1).unbind(-1):
        law = logits(x)[rows, site].float().log_softmax(-1)
        symbol = sample_categorical(law.exp(), generator)
        x[rows, site] = symbol
        log_q += law[rows, symbol]
    return x, log_q
