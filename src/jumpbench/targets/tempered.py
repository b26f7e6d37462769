"""A target raised to a power: the laws between the uniform one and the target."""

from typing import Any

from torch import Tensor

from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.changes import Commit, Delta, changes_of


class Tempered:
    """log nu_t(x) = t log nu(x), for any target and power t (a number or a 0-dim tensor).

    A lattice target stays one: its pair and field terms and beta are scaled too.
    """

    def __init__(self, target: DiscreteTarget, power: Tensor | float) -> None:
        self.target, self.power = target, power
        self.length, self.n_states = target.length, target.n_states

    def log_prob(self, x: Tensor) -> Tensor:
        return self.power * self.target.log_prob(x)

    def neighbor_log_ratios(self, x: Tensor) -> Tensor:
        return self.power * self.target.neighbor_log_ratios(x)

    def changes(self, x: Tensor) -> tuple[Delta, Commit | None]:
        delta, commit = changes_of(self.target, x)
        return lambda x, site, token: self.power * delta(x, site, token), commit

    def __getattr__(self, name: str) -> Any:
        # Only what is not found otherwise; "target" itself is missing while unpickling.
        if name.startswith("_") or name == "target":
            raise AttributeError(name)
        value = getattr(self.target, name)
        if name == "site_log_ratios":
            return lambda x, site: self.power * value(x, site)
        if name in ("pair", "field") and isinstance(self.power, Tensor):
            value = value.to(self.power.device)  # a power on a GPU is not waited for
        return self.power * value if name in ("pair", "field", "beta") else value
