"""One number of a table beside the published one, with everything that stands behind it."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.judging.comparisons import Estimate
from jumpbench.tables.judging.levels import quantile
from jumpbench.tables.judging.spreads import Samples, samples_of, saturated_spread, seed_spread
from jumpbench.tables.language.metric import Metric
from jumpbench.tables.language.types import Published, Table


@dataclass(frozen=True)
class Value:
    """What one run says about one cell; ``by_sample`` are the numbers of its samples, whose mean
    the value is, where the run kept them and the metric names them."""

    seed: int
    value: float
    run: str
    by_sample: list[float] | None = None

    def as_json(self) -> dict[str, Any]:
        known = {"seed": self.seed, "value": self.value, "run": self.run}
        return known if self.by_sample is None else known | {"by_sample": self.by_sample}


@dataclass(frozen=True)
class Cell:
    """The unit of ``table.json``. ``measured`` is the mean of ``values`` over seeds.

    ``status``: measured; fact (a setting read off the configuration, see ``fact``); partial (a seed
    is missing, failed or not finite: shown, never judged); failed; missing; data-missing; cited.
    ``uncertainty`` is the standard error of the mean with ``df`` degrees of freedom (None: unknown;
    infinite ones are null in json).
    """

    row: str
    column: str
    metric: str
    paper: float | str | None = None
    paper_std: float | None = None
    measured: float | None = None
    std: float | None = None
    n_seeds: int = 0
    n_samples: int | None = None
    status: str = "missing"
    verdict: str | None = None  # match | better | worse
    perfect: float | None = None  # what a perfect method would score
    note: str | None = None
    run_ids: list[str] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    uncertainty: float | None = None
    df: float | None = None
    asked: bool = True  # False: cited, or not part of the scale
    run_error: float | None = None  # standard error that a run measured of its own number
    fact: bool = False  # its metric is a setting: never counted, compared or judged

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "values": [value.as_json() for value in self.values]}

    @classmethod
    def from_json(cls, raw: Any, where: str) -> "Cell":
        """A cell as :meth:`as_json` wrote it.

        Raises:
            UserError: it is none; ``where`` names the file.
        """
        known = {f.name for f in fields(cls)}
        try:
            content = {key: value for key, value in raw.items() if key in known}
            content["values"] = [Value(**value) for value in content.get("values", ())]
            return cls(**content)
        except (AttributeError, TypeError):
            raise UserError(f"{where} is damaged (a cell is not one); record it again") from None

    @property
    def has_number(self) -> bool:
        return self.status in ("measured", "fact", "partial")

    def estimate(
        self, metric: Metric, exact: bool, place: str, replicated: bool = False
    ) -> Estimate:
        """What claims compare; nothing but a whole cell has a value.

        Its error is known without comparing seeds where it is exact, where all seeds stand on one
        of the metric's bounds, and where runs measured it. The stated spread of the verdict
        (``seed_std``) is no part of it. ``replicated``: the scale names its samples as replicates.
        """
        if self.status == "partial":
            return Estimate(None, lacking=f"not every seed has a number for {place}")
        if self.status != "measured" or self.measured is None or not math.isfinite(self.measured):
            return Estimate(None, lacking=f"no number for {place}")
        by_seed = {value.seed: value.value for value in self.values}
        numbers = list(by_seed.values())
        error, df, sampling = None, math.inf, 0.0
        if exact:
            error = 0.0
        elif at_bound := numbers and saturated_spread(numbers, metric, self.n_samples):
            error, df = at_bound
        elif self.run_error:
            error = self.run_error / math.sqrt(len(numbers))
        elif metric.share:
            sampling = samples_of(metric, self.measured, self.n_samples, None, None).error or 0.0
        samples = Samples()
        if replicated and not exact:
            (kept,) = [v.by_sample for v in self.values] if len(self.values) == 1 else [None]
            samples = samples_of(metric, self.measured, self.n_samples, self.std, kept)
        return Estimate(
            self.measured, error, df, by_seed, sampling,
            samples=samples, by_training=metric.jumps and not exact,
        )  # fmt: skip


def uncertainty(
    metric: Metric,
    values: list[float],
    samples: int | None,
    published: Published | None,
    run_error: float = 0.0,
    exact: bool = False,
) -> tuple[float | None, float | None, float | None]:
    """(spread between seeds that is believed, standard error, degrees of freedom) of a mean.

    None where nothing is known; degrees of freedom are None where they are infinite. ``run_error``
    is the standard error that a run measured of its own number (0: none): no smaller spread is
    believed. ``exact``: the number has no error, whatever the metric.
    """
    n = len(values)
    if exact or metric.without_error:
        return 0.0, 0.0, None
    if at_bound := saturated_spread(values, metric, samples):
        error, df = at_bound
        return error * math.sqrt(n), error, df
    rounding = published.rounding if published and metric.printed else 0.0
    spread, df = seed_spread(values, metric.seed_std, max(rounding, run_error))
    if spread is None:
        return None, None, None
    return spread, spread / math.sqrt(n), df if math.isfinite(df) else None


def spread_in_print(metric: Metric, values: list[float], samples: int | None) -> float | None:
    """Spread of the paper's runs where ours all stand on a bound of the metric, which says nothing
    of theirs: the stated one. None: that of ours, as everywhere else."""
    return metric.seed_std if saturated_spread(values, metric, samples) else None


def verdict(
    table: Table, metric: Metric, mean: float, spread: float | None, df: float | None, n: int,
    published: Published | None, papers: float | None = None,
) -> str | None:  # fmt: skip
    """match | better | worse, or None where nothing can be said.

    Match: ``|mean - paper| <= q sqrt(spread^2 (1/n + 1/paper_seeds) + tolerance^2) + rounding``,
    where q is ``sigmas`` (Student's quantile of the same tail where the spread was measured with
    ``df`` degrees of freedom) and rounding half a unit of the last digit that the paper prints.
    ``papers``: the stated spread of the paper's runs, if it is another; it has the q of ``sigmas``.
    None without a printed number, a spread or a direction.
    """
    if published is None or isinstance(published.value, str) or not metric.printed:
        return None
    if spread is None and not metric.tolerance:
        return None
    q = quantile(table.sigmas, math.inf if df is None else df)
    ours = q * math.sqrt((spread or 0.0) ** 2 / n + metric.tolerance**2)
    theirs = q * (spread or 0.0) if papers is None else table.sigmas * papers
    theirs /= math.sqrt(table.paper_seeds)
    difference = mean - published.value
    if abs(difference) <= math.hypot(ours, theirs) + published.rounding:
        return "match"
    if metric.better == "none":
        return None
    return "better" if (difference < 0) == (metric.better == "lower") else "worse"


def by_place(cells: list[Cell]) -> Mapping[tuple[str, str, str], Cell]:
    return {(cell.row, cell.column, cell.metric): cell for cell in cells}
