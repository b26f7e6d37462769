"""What a draw costs: the same units for every sampler, and meters that count them."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeVar

from torch import Tensor

Kind = Literal["network", "energy"]
T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """What samples cost. Costs of work that is done one after the other add up.

    Energy evaluations are a property of the algorithm: they are the same whether a network, the
    generic fall-back or a closed form answers, and what an implementation evaluates twice counts
    once. A closed form that makes a whole table for the price of a few states shows in ``seconds``.
    Counted by the price instead, one algorithm would have two numbers on two energies, and a table
    of ratios (one "evaluation" of a lattice) could be compared with no proposal (one as well).

    Attributes:
        network_evaluations: states put through a network, per returned sample.
        energy_evaluations: states whose energy, likelihood or reward an algorithm asks for, per
            returned sample. One state's ``log_prob`` counts 1; a proposal, the changed state, 1,
            and the state that a chain starts from 1; the conditional law of a site, its other
            symbols, N - 1; a table of all neighbour ratios, the state (whose own value is included)
            and its neighbours, 1 + D (N - 1), see :func:`table_evaluations`; a gradient 1; a sweep
            over all bonds of a lattice 1.
        sequential_steps: steps that must follow one another, per returned sample: what no
            parallel hardware shortens.
        seconds: of the whole batch, judging not included; filled in by who runs the sampler.
    """

    network_evaluations: float = 0.0
    energy_evaluations: float = 0.0
    sequential_steps: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.network_evaluations + other.network_evaluations,
            self.energy_evaluations + other.energy_evaluations,
            self.sequential_steps + other.sequential_steps,
            self.seconds + other.seconds,
        )

    def scaled(self, factor: float) -> "Cost":
        """The counts times ``factor`` (the seconds stay), as for a share of a chain's work."""
        return replace(
            self,
            network_evaluations=self.network_evaluations * factor,
            energy_evaluations=self.energy_evaluations * factor,
            sequential_steps=self.sequential_steps * factor,
        )


class Meter:
    """Counts states that went through networks and energies, without touching their values."""

    def __init__(self) -> None:
        self.network = 0
        self.energy = 0

    def count(
        self, kind: Kind, states: Tensor, event_dims: int = 1, evaluations: float = 1
    ) -> None:
        """Add the states in ``states`` (..., event), ``evaluations`` each.

        ``event_dims`` axes make one state. The sum is rounded up to a whole number.
        """
        shape = states.shape[: states.dim() - event_dims]
        setattr(self, kind, getattr(self, kind) + math.ceil(shape.numel() * evaluations))

    def add(self, cost: Cost, n_samples: int) -> None:
        """Add what ``n_samples`` samples took, at ``cost`` each; rounded up to whole states."""
        self.network += math.ceil(cost.network_evaluations * n_samples)
        self.energy += math.ceil(cost.energy_evaluations * n_samples)

    def per_sample(self, n_samples: int, sequential_steps: float = 0.0) -> Cost:
        """What was counted, shared out over ``n_samples``."""
        return Cost(self.network / n_samples, self.energy / n_samples, sequential_steps)


COUNTED = ("log_prob", "neighbor_log_ratios", "energy")
"""Methods of a target that evaluate it."""


class Sized(Protocol):
    """What has a table of neighbour ratios."""

    length: int
    n_states: int


def table_evaluations(target: Sized) -> float:
    """Energy evaluations of one table of neighbour ratios, ``log_prob`` of the state included.

    The state and its neighbours, 1 + D (N - 1), or what a target says itself by a number of this
    name: on padded sites there are fewer neighbours, and first-order ratios ask for none.
    """
    own = getattr(target, "table_evaluations", None)
    return 1 + target.length * (target.n_states - 1) if own is None else own


def metered(thing: T, meter: Meter, kind: Kind = "energy", event_dims: int = 1) -> T:
    """``thing`` (a network, target, reward) that counts the states of its calls in ``meter``.

    Calls and the methods :data:`COUNTED` are counted by their first argument, a table of neighbour
    ratios as :func:`table_evaluations`; every other attribute is that of ``thing``.
    """
    return _Metered(thing, meter, kind, event_dims)  # type: ignore[return-value]


class _Metered:
    def __init__(self, thing: Any, meter: Meter, kind: Kind, event_dims: int) -> None:
        self._thing, self._meter, self._kind, self._dims = thing, meter, kind, event_dims

    def __call__(self, states: Tensor, *args: Any, **kwargs: Any) -> Any:
        self._meter.count(self._kind, states, self._dims)
        return self._thing(states, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._thing, name)
        return self._counted(name, value) if name in COUNTED else value

    def _counted(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        each = table_evaluations(self._thing) if name == "neighbor_log_ratios" else 1

        def counting(states: Tensor, *args: Any, **kwargs: Any) -> Any:
            self._meter.count(self._kind, states, self._dims, each)
            return method(states, *args, **kwargs)

        return counting
