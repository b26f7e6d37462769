"""A target raised to a power: the laws between the uniform one and the target."""

from typing import Any

from torch import Tensor

from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.changes import Commit, Delta, changes_of


class Tempered:
    """log nu_t(x) = t log nu(x), for any target and power t (a number or a 0-dim tensor).

    A lattice target stays one: its pair and field terms and beta are scaled too. A power (G,) has
    an entry for each of G equal groups of consecutive states; such a target is no lattice.
    """

    def __init__(self, target: DiscreteTarget, power: Tensor | float) -> None:
        self.target, self.power = target, power
        self.length, self.n_states = target.length, target.n_states

    def log_prob(self, x: Tensor) -> Tensor:
        return self._times(self.target.log_prob(x))

    def neighbor_log_ratios(self, x: Tensor) -> Tensor:
        return self._times(self.target.neighbor_log_ratios(x))

    def changes(self, x: Tensor) -> tuple[Delta, Commit | None]:
        delta, commit = changes_of(self.target, x)
        return lambda x, site, token: self._times(delta(x, site, token)), commit

    def __getattr__(self, name: str) -> Any:
        # Only what is not found otherwise; "target" itself is missing while unpickling.
        if name.startswith("_") or name == "target":
            raise AttributeError(name)
        value = getattr(self.target, name)
        if name == "site_log_ratios":
            return lambda x, site: self._times(value(x, site))
        if name in ("pair", "field", "beta") and self.is_by_group:
            raise AttributeError(name)
        if name in ("pair", "field") and isinstance(self.power, Tensor):
            value = value.to(self.power.device)  # a power on a GPU is not waited for
        return self.power * value if name in ("pair", "field", "beta") else value

    @property
    def is_by_group(self) -> bool:
        """Whether the law of a state depends on its place in the batch."""
        return isinstance(self.power, Tensor) and self.power.dim() == 1

    def _times(self, values: Tensor) -> Tensor:
        """``values`` (B, ...) times the power."""
        if isinstance(self.power, Tensor) and self.is_by_group:
            groups = values.reshape(len(self.power), -1, *values.shape[1:])
            return (self.power.view(-1, *[1] * values.dim()) * groups).view(values.shape)
        return self.power * values
