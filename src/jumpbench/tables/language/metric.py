"""The metrics of a table file: what is measured, and how it is compared and printed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from jumpbench.tables.language.fields import STRICT, Finite, Name, Positive, Words

TWO_CLASSES = math.sqrt(math.pi / 2 - 1)
"""Standard deviation over mean of |X|, X normal: of the total variation of two classes."""


@dataclass(frozen=True)
class BreakEven:
    """Names of the metrics of :mod:`jumpbench.tables.judging.break_even`.

    ``spreads``: for each error, the standard deviation of what exact draws score as a share of its
    mean (:func:`jumpbench.evaluations.energy_classes.floor_spread`), of each problem
    (``vars.problem`` of the columns) or of all. None: that of two classes of equal weight,
    0.756, which is the largest that there is.
    """

    errors: Annotated[Words, Field(min_length=1)]
    setup: Name
    rate: Name
    spreads: tuple[Positive, ...] | Mapping[str, tuple[Positive, ...]] | None = None

    @property
    def names(self) -> Words:
        return (*self.errors, self.setup, self.rate)

    def spreads_of(self, problem: Any) -> tuple[float, ...]:
        """One for each error, at the columns of a problem."""
        of = self.spreads.get(str(problem)) if isinstance(self.spreads, Mapping) else self.spreads
        return of or (TWO_CLASSES,) * len(self.errors)

    __pydantic_config__ = STRICT


@dataclass(frozen=True)
class Metric:
    """A measured quantity and how it is compared with the published one."""

    name: Name
    label: str = ""
    better: Literal["lower", "higher", "none"] = "none"
    digits: Annotated[int, Field(ge=0, le=12)] = 3
    unit: str = ""
    source: str | None = None  # name in metrics.json; may contain {row}, {column} and their vars
    factor: Positive = 1.0  # what is measured is multiplied by it
    perfect: str | None = None  # run metric: what a perfect method would score at this sample size
    sample_std: str | None = None  # run metric printed as ±: the spread over test samples
    share: bool = False  # of its samples, between its two bounds
    by_sample: str | None = None  # in the run's by_sample: one number a sample, for paired claims
    sample_step: Positive | None = None  # least difference of two samples, as printed
    error: str | None = None  # run metric: the standard error of the number, measured by the run
    seed_std: Positive | None = None  # stated seed-to-seed spread, used while it is not measured
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0  # of the verdict, absolute
    bounds: tuple[Finite | None, Finite | None] | None = None  # what it cannot leave
    exact: bool = False  # a closed form or a setting: no seed, no sample, no error
    break_even: BreakEven | None = None  # its number is the break-even that these give
    by_training: bool = False  # it jumps from one training to the next: claims count trainings
    fact: bool = False  # a setting read off the configuration: shown, never counted or compared
    printed: bool = True  # False: the paper shows it in a plot, the numbers are not its own

    __pydantic_config__ = STRICT

    @property
    def read_as(self) -> dict[str, str | float]:
        """What of a run its numbers are, as a record keeps it: names, and the factor if any."""
        names = ("source", "perfect", "sample_std", "by_sample", "error")
        read = {"source": self.name} | {name: at for name in names if (at := getattr(self, name))}
        return read if self.factor == 1 else {**read, "factor": self.factor}

    @property
    def jumps(self) -> bool:
        """Whether claims count trainings: a break-even may be "never", too."""
        return self.by_training or self.break_even is not None

    @property
    def without_error(self) -> bool:
        return self.exact or self.fact

    @property
    def never_negative(self) -> bool:
        return self.bounds is not None and self.bounds[0] is not None and self.bounds[0] >= 0
