"""A synthetic law of enhancers: motifs planted in a Markov background, and what they do."""

import torch
from torch import Tensor

from jumpbench.ops.categorical import sample_categorical

ALPHABET = "ACGT"
MOTIFS = ("GTTAATCA", "CAAAGTCC", "TTGCGCAA", "TGTTTACT", "AGATAAGG", "CCACGTGA")
WEIGHTS = torch.tensor(
    # HepG2, K562, SK-N-SH
    [[3.0, 0.0, 0.0], [2.0, 0.2, 0.2], [1.5, 0.5, 1.0],
     [1.5, -0.5, 0.0], [-1.0, 3.0, 0.0], [0.5, 1.0, 2.0]]
)  # fmt: skip
BACKGROUND = torch.tensor(
    # from A, C, G, T: CG is rare, as in vertebrates
    [[0.32, 0.18, 0.28, 0.22], [0.34, 0.29, 0.06, 0.31],
     [0.27, 0.23, 0.29, 0.21], [0.20, 0.21, 0.28, 0.31]]
)  # fmt: skip
NOISE = 0.3


def encoded(text: str) -> Tensor:
    """Symbols 0..3 (A, C, G, T) of a word."""
    return torch.tensor([ALPHABET.index(letter) for letter in text])


class MotifActivity:
    """What a sequence does, in closed form: three activities, and the odds to be accessible.

    With m_j of a motif's 8 letters found at position j, and q_j = sigmoid(3 (m_j - 7.5)), the motif
    responds with 1 - exp(-sum_j q_j). Activities are sums of the responses times ``WEIGHTS``; the
    log-odds of being accessible are 6 times the response of the fourth motif minus 2.
    """

    def responses(self, x: Tensor) -> Tensor:
        """Responses (B, 6), in [0, 1), of sequences (B, D)."""
        size = len(MOTIFS[0])
        windows = x.unfold(1, size, 1)
        matches = torch.stack([(windows == encoded(m).to(x.device)).sum(-1) for m in MOTIFS], -1)
        occupied = torch.sigmoid(3.0 * (matches.float() - (size - 0.5)))
        return 1 - torch.exp(-occupied.sum(1))

    def __call__(self, x: Tensor) -> Tensor:
        """Activities (B, 3) without noise: HepG2, K562, SK-N-SH."""
        return self.responses(x) @ WEIGHTS.to(x.device)

    def accessible(self, x: Tensor) -> Tensor:
        """Probability (B,) to be accessible."""
        return torch.sigmoid(6 * self.responses(x)[:, 3] - 2)


def planted(count: int, length: int, generator: torch.Generator, share: float = 0.25) -> Tensor:
    """Sequences (count, length): background, and each motif with probability ``share``.

    A planted motif lies at a uniform place, over what was there, and each of its letters is drawn
    anew with probability 0.1.
    """
    states = torch.empty(count, length, dtype=torch.long)
    states[:, 0] = torch.randint(4, (count,), generator=generator)
    for site in range(1, length):
        states[:, site] = sample_categorical(BACKGROUND[states[:, site - 1]], generator)
    rows = torch.arange(count)[:, None]
    for motif in map(encoded, MOTIFS):
        places = torch.arange(len(motif))
        start = torch.randint(length - len(motif) + 1, (count, 1), generator=generator)
        letters = torch.randint(4, (count, len(motif)), generator=generator)
        renewed = torch.rand(letters.shape, generator=generator) < 0.1
        word = torch.where(renewed, letters, motif)
        chosen = torch.rand(count, 1, generator=generator) < share
        states[rows, start + places] = torch.where(chosen, word, states[rows, start + places])
    return states
