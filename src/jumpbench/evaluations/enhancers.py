"""Designed enhancers: how active, how accessible and how likely they are."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from jumpbench.artifacts import load_weights
from jumpbench.evaluations.extras import ExtrasEvaluation
from jumpbench.metrics.masked_bound import masked_bound
from jumpbench.processes.masked import MaskedProcess
from jumpbench.processes.schedules import LogLinear, Schedule
from jumpbench.samplers.draws import Draws
from jumpbench.seeding import make_generator

FIRST_TIME = 1e-5


class EnhancerEvaluation(ExtrasEvaluation):
    """Judges sequences (B, D) by networks that the sampler has not seen (SGDD's Table 3).

    Results: ``activity_median``, ``activity_mean`` and ``activity_std`` over sequences, of one
    output of ``judge``; ``accessible``, the percentage whose probability of class 1 exceeds 1/2;
    ``log_likelihood_mean`` and ``_std``, the one-sample bound
    :func:`~jumpbench.metrics.masked_bound.masked_bound` of a masked model on a grid of [1e-5, 1];
    ``distinct``, the percentage of different sequences; ``data_activity``, the judge's mean on the
    batches' own sequences; ``true_activity``, where the true activity is known; means of the
    extras. Without a network its results are left out.

    Args:
        judge: sequences -> activities (B, k).
        accessibility: sequences -> logits (B, 2).
        denoiser: states with masks and noise -> log-scores (B, D, V + 1).
        judge_weights: folder of the run that trained the judge.
        accessibility_weights: likewise.
        denoiser_weights: likewise.
        n_symbols: V.
        head: which activity.
        schedule: of the denoiser, by default log-linear.
        steps: of the bound's grid.
        truth: sequences -> activities (B, k), where they are known.
        batch: sequences a network call.

    Raises:
        UserError: (when judging) weights that are missing or do not fit.
    """

    def __init__(
        self,
        judge: nn.Module,
        accessibility: nn.Module | None = None,
        denoiser: nn.Module | None = None,
        judge_weights: str | Path | None = None,
        accessibility_weights: str | Path | None = None,
        denoiser_weights: str | Path | None = None,
        n_symbols: int = 4,
        head: int = 0,
        schedule: Schedule | None = None,
        steps: int = 128,
        truth: Callable[[Tensor], Tensor] | None = None,
        batch: int = 256,
    ) -> None:
        self.judge, self.accessibility, self.denoiser = judge, accessibility, denoiser
        self.weights = (judge_weights, accessibility_weights, denoiser_weights)
        self.head, self.schedule, self.steps = head, schedule or LogLinear(), steps
        self.truth, self.batch, self.n_symbols = truth, batch, n_symbols
        super().__init__()

    def keep(self, batch: Any) -> dict[str, Tensor]:
        return {"states": batch["states"].to(torch.uint8)}

    def reset(self) -> None:
        super().reset()
        self.samples: list[Tensor] = []
        self.data: list[Tensor] = []

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        self.samples.append(draws.samples.long())
        self.data.append(reference["states"].long())
        super().update(draws, reference)

    @torch.no_grad()
    def results(self) -> dict[str, float]:
        samples, values = torch.cat(self.samples), super().results()
        judge, accessibility, denoiser = self._networks()
        activity = self._in_batches(judge, samples)[:, self.head].double()
        data = self._in_batches(judge, torch.cat(self.data))[:, self.head].double()
        values |= {
            "activity_median": float(activity.quantile(0.5)),
            **spread("activity", activity),
            "data_activity": float(data.mean()),
            "distinct": 100 * len(samples.unique(dim=0)) / len(samples),
        }
        if accessibility is not None:
            open_ = self._in_batches(accessibility, samples).softmax(-1)[:, 1] > 0.5
            values["accessible"] = 100 * float(open_.double().mean())
        if denoiser is not None:
            values |= spread("log_likelihood", self._bound(denoiser, samples))
        if self.truth is not None:
            values["true_activity"] = float(self.truth(samples)[:, self.head].double().mean())
        return values

    def _networks(self) -> list[Any]:
        networks = (self.judge, self.accessibility, self.denoiser)
        return [
            None if network is None else load_weights(network, folder)
            for network, folder in zip(networks, self.weights, strict=True)
        ]

    def _in_batches(self, network: nn.Module, x: Tensor) -> Tensor:
        return torch.cat([network.eval()(part) for part in x.split(self.batch)])

    def _bound(self, denoiser: nn.Module, samples: Tensor) -> Tensor:
        times = torch.linspace(FIRST_TIME, 1, self.steps + 1, dtype=torch.float64)
        totals = self.schedule.total(times)
        process = MaskedProcess(self.n_symbols)

        def clean(x: Tensor, k: int) -> Tensor:
            noise = totals[k].float().expand(len(x))
            return process.denoise(x, denoiser.eval()(x, noise).float().exp(), totals[k])

        generator = make_generator(0, "likelihood bound")
        masked = -torch.expm1(-totals)
        parts = [
            masked_bound(clean, part, masked, process.mask, generator)
            for part in samples.split(self.batch)
        ]
        return torch.cat(parts)


def spread(name: str, each: Tensor) -> dict[str, float]:
    """Mean over sequences, and the standard deviation (0 of a single one)."""
    deviation = float(each.std()) if len(each) > 1 else 0.0
    return {f"{name}_mean": float(each.mean()), f"{name}_std": deviation}
