"""What a draw costs: the same units for every sampler, and meters that count them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from torch import Tensor

Kind = Literal["network", "energy"]
T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """What samples cost. Costs of work that is done one after the other add up.

    Attributes:
        network_evaluations: states put through a network, per returned sample.
        energy_evaluations: states whose energy, likelihood or reward was evaluated, per returned
            sample: a ``log_prob``, a table of all neighbour ratios and the difference of one move
            count 1 each.
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

    def count(self, kind: Kind, states: Tensor, event_dims: int = 1) -> None:
        """Add the states in ``states (..., event)``; ``event_dims`` axes make one state."""
        shape = states.shape[: states.dim() - event_dims]
        setattr(self, kind, getattr(self, kind) + shape.numel())

    def per_sample(self, n_samples: int, sequential_steps: float = 0.0) -> Cost:
        """What was counted, shared out over ``n_samples``."""
        return Cost(self.network / n_samples, self.energy / n_samples, sequential_steps)


COUNTED = ("log_prob", "neighbor_log_ratios", "energy")
"""Methods of a target that evaluate it."""


def metered(thing: T, meter: Meter, kind: Kind = "energy", event_dims: int = 1) -> T:
    """``thing`` (a network, target, reward) that counts the states of its calls in ``meter``.

    Calls and the methods :data:`COUNTED` are counted by their first argument; every other
    attribute is that of ``thing``. One evaluation is one state, however it is computed inside.
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
        return self._counted(value) if name in COUNTED else value

    def _counted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def counting(states: Tensor, *args: Any, **kwargs: Any) -> Any:
            self._meter.count(self._kind, states, self._dims)
            return method(states, *args, **kwargs)

        return counting
