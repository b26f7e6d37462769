"""Infilled melodies against the songs that were masked."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from jumpbench.evaluations.extras import ExtrasEvaluation
from jumpbench.samplers.draws import Draws


def note_hellinger(sample: Tensor, song: Tensor, n_states: int) -> Tensor:
    """sqrt(1 - sum sqrt(p q)) of the histograms over symbols of whole sequences (B, D), (B,)."""
    p, q = (F.one_hot(x.long(), n_states).double().mean(1) for x in (sample, song))
    return (1 - (p * q).sqrt().sum(-1)).clamp(min=0).sqrt()


def outliers(sample: Tensor, song: Tensor, n_states: int) -> Tensor:
    """Share of a sequence's positions whose symbol never occurs in its song, (B,)."""
    occurs = torch.zeros(len(song), n_states, dtype=torch.bool).scatter_(1, song.long(), True)
    return 1 - occurs.gather(1, sample.long()).double().mean(1)


class MelodyEvaluation(ExtrasEvaluation):
    """Results: ``hellinger`` and ``outliers``, means over songs, and ``_std`` over songs; means of
    the extras. Observed positions count, as in the paper's code. Artifacts: ``truth``, and
    ``by_sample`` with both numbers of every song, which the run writes into ``metrics.json``.

    Args:
        n_states: N.
    """

    def __init__(self, n_states: int) -> None:
        self.n_states = n_states
        super().__init__()

    def keep(self, batch: Any) -> dict[str, Tensor]:
        return {"states": batch["states"].to(torch.int16)}

    def reset(self) -> None:
        super().reset()
        self.truth: list[Tensor] = []
        self.samples: list[Tensor] = []

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        self.truth.append(reference["states"])
        self.samples.append(draws.samples)
        super().update(draws, reference)

    def results(self) -> dict[str, float]:
        values = super().results()
        for name, each in self._each().items():
            values[name] = float(each.mean())
            values[f"{name}_std"] = float(each.std()) if len(each) > 1 else 0.0
        return values

    def artifacts(self) -> dict[str, Any]:
        by_sample = {name: each.tolist() for name, each in self._each().items()}
        return {"truth": torch.cat(self.truth), "by_sample": by_sample}

    def _each(self) -> dict[str, Tensor]:
        """Both measures of every song, (B,) each."""
        songs = torch.cat(self.samples), torch.cat(self.truth), self.n_states
        return {"hellinger": note_hellinger(*songs), "outliers": outliers(*songs)}
