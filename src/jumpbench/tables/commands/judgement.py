"""By what ``jumpbench compare`` judges samplers, and the table file that it writes."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jumpbench.tables.commands.contestants import Contestant, fitted
from jumpbench.tables.judging.best_row import best_row
from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.language.types import Table
from jumpbench.tables.planning.hydra_overrides import parsed_override
from jumpbench.tables.planning.scalefiles import spelled

MOST_RHAT, FEWEST_TRIPS = 1.01, 10
"""Bounds of a reference that has converged; round trips are those of each ladder."""
ALONE = "evaluation._target_=jumpbench.evaluations.own_numbers.OwnNumbersEvaluation"
_REFERENCE = ("leaderboard/tempering", (
    ALONE, "name=reference", "data.n_samples=4096", "data.batch_size=4096",
    "++method.collections=256", "++method.replicas=16", "method.most_kept=null",
))  # fmt: skip
"""16 ladders of 16 powers, 256 states of each."""
_JUDGED = (
    "method._target_=jumpbench.methods.common.saved_samples.SavedSamples",
    "+method.folder=${needs.samples.folder}",
    "+method.whole=true",
    *(f"~method.{key}" for key in (
        "target", "kernel", "burn_in", "spacing", "burn_in_share", "most_kept", "seconds")),
    "evaluation._target_=jumpbench.evaluations.reference.ReferenceEvaluation",
    "+evaluation.reference=${needs.reference.folder}",
)  # fmt: skip
"""What makes a run of ``leaderboard/chains`` one that judges the samples of another."""
_SEED = 20261124
"""Of the reference: no row's."""

_ERROR = {"label": "energy-law TV", "perfect": "energy_tv_floor",
          "better": "lower", "digits": 4, "bounds": [0, 1]}  # fmt: skip
_MODES = {"label": "mode imbalance", "source": "mode_imbalance", "perfect": "mode_imbalance_floor",
          "better": "lower", "digits": 3, "bounds": [0, 1]}  # fmt: skip
_STATES = {
    "mean": {"label": "mean energy", "source": "mean_energy", "error": "mean_energy_error"},
    "lowest": {"label": "lowest energy", "source": "lowest_energy"},
}
_OWN = {
    "log_z": {"label": "log Z", "error": "log_z_error"},
    "rate": {"label": "effective samples a second", "source": "effective_per_second",
             "better": "higher", "digits": 0, "bounds": [0, None]},
    "energies": {"label": "energy evaluations a sample", "source": "energy_evaluations",
                 "digits": 0},
}  # fmt: skip


@dataclass(frozen=True)
class Judgement:
    """``exact``: against the enumerated law; ``reference``: a long run; ``alone``: nothing.

    Attributes:
        seconds: of the reference.
        words: what errors are measured against, and how good it is.
        why: why nothing is compared with it, empty if something is.
    """

    kind: str
    seconds: float = 0.0
    words: str = ""
    why: str = ""

    @property
    def seeds(self) -> str:
        return f"[{_SEED}]"

    def reference(self) -> tuple[str, list[str]]:
        """Experiment and overrides of the reference run."""
        experiment, overrides = _REFERENCE
        return experiment, [*overrides, f"budget.seconds={self.seconds:g}"]

    def judged(self, metrics: Mapping[str, float] | None) -> "Judgement":
        """What this reference can be used for, by its metrics (None: it failed)."""
        if metrics is None:
            why = "the reference run failed, so there is no error"
            return replace(self, kind="alone", why=why, words=why)
        metrics = {name: float(value) for name, value in metrics.items()}  # "inf" is a word there
        rhat, trips = metrics["rhat"], metrics["trips"]
        spent = max(self.seconds, metrics["sample_seconds"] * metrics["n_samples"])
        words = (
            f"reference, {spent:.0f} s: split R-hat {rhat:.4f}, {trips:.0f} round trips a ladder, "
            f"least swap rate {metrics['swap_rate']:.2f}, own error about "
            f"{metrics['halves_tv'] / 2:.3f} (half of the distance between its halves)"
        )
        wrong = []
        if not rhat <= MOST_RHAT:
            wrong.append(f"split R-hat {rhat:.3f} is above {MOST_RHAT}")
        if not trips >= FEWEST_TRIPS:
            wrong.append(f"{trips:.0f} round trips a ladder are fewer than {FEWEST_TRIPS}")
        if not wrong:
            return replace(self, words=words)
        why = (
            f"refused: no error against a reference that has not converged ({'; '.join(wrong)}): "
            f"give it longer, reference={math.ceil(4 * spent)}; no finished sampler runs again"
        )
        return replace(self, kind="alone", words=words, why=why)

    def verdict(self, table: Table, cells: Sequence[Cell]) -> str:
        """The sentence behind the table."""
        if self.why:
            return self.why[0].upper() + self.why[1:] + "."
        longest = table.columns[-1].name
        return best_row(table, cells, longest, table.metrics["energy_tv"])


def table(
    typed: Sequence[str], rows: Sequence[Contestant], budgets: Sequence[float],
    judgement: Judgement, seeds: int,
) -> dict[str, Any]:  # fmt: skip
    """The content of the table's file."""
    metrics = {
        "exact": {"energy_tv": _ERROR, "modes": _MODES, **_OWN},
        "reference": {"energy_tv": _ERROR, **_STATES, **_OWN},
        "alone": {**_STATES, **_OWN},
    }[judgement.kind]
    columns = {f"{seconds:g} s": seconds for seconds in budgets}
    title = f"Samplers of {' '.join(typed)}"
    plain = {"bars": {"metrics": [next(iter(metrics)), "rate"]}}
    drawn = {"curves": {"metrics": [next(iter(metrics)), "rate"], "x": "seconds",
                        "xlabel": "seconds", "log_y": judgement.kind != "alone"}}  # fmt: skip
    [(kind, arguments)] = (drawn if len(budgets) > 1 else plain).items()
    file = {"bars": "barcharts", "curves": "figures"}[kind]
    return {
        "title": title,
        "about": {
            "exact": judgement.words,
            "reference": judgement.words,
            "alone": judgement.why or "no errors",
        }[judgement.kind],
        "experiment": "leaderboard/chains",
        "overrides": list(typed),
        "metrics": metrics,
        "rows": [_row(row, columns, typed, judgement, metrics) for row in rows],
        "columns": [
            {"name": name, "overrides": [], "vars": {"seconds": seconds}}
            for name, seconds in columns.items()
        ],
        "figures": [
            {"name": "compare", "caption": f"{title}.",
             "_target_": f"jumpbench.tables.views.{file}.{kind}", **arguments}
        ],
        "scales": {"small": {"title": title, "decides": True, "seeds": seeds}},
    }  # fmt: skip


def _row(
    row: Contestant, columns: Mapping[str, float], typed: Sequence[str], judgement: Judgement,
    metrics: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    shown = [name for name in metrics if name != "log_z" or row.weighted]
    if judgement.kind == "exact":
        said = {name: row.budgeted(seconds) for name, seconds in columns.items()}
        return {"name": row.name, "experiment": row.experiment, "overrides": list(row.overrides),
                "metrics": shown, "columns": said}  # fmt: skip
    if judgement.kind == "alone":
        said = {name: [*row.budgeted(s), ALONE] for name, s in columns.items()}
        return {"name": row.name, "experiment": row.experiment, "overrides": list(row.overrides),
                "metrics": shown, "columns": said}  # fmt: skip
    said = {name: _against(row, typed, s, judgement) for name, s in columns.items()}
    return {"name": row.name, "metrics": shown, "columns": said}


def _against(
    row: Contestant, typed: Sequence[str], seconds: float, judgement: Judgement
) -> list[str]:
    """Overrides of the run that judges the samples of a row's run by the reference."""
    run = fitted(row, typed, [*row.budgeted(seconds), ALONE])
    experiment, overrides = judgement.reference()
    reference = {"experiment": experiment, "copy": ["target"],
                 "overrides": [*overrides, f"seed={_SEED}"]}  # fmt: skip
    own = [
        "name=judged-" + re.sub(r"[^A-Za-z0-9]+", "-", row.name).strip("-"),
        f"+needs.reference={spelled(reference)}",
        *_JUDGED,
    ]
    keys = [parsed_override("leaderboard/chains", text).key_or_group for text in own]
    sampler = {"experiment": row.experiment, "without": ["needs.samples", "target", *keys],
               "overrides": run}  # fmt: skip
    return [*own, f"+needs.samples={spelled(sampler)}"]
