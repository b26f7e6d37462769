"""A changed learning rate that a schedule sets anew at every step is refused."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.planning.constructors import is_allowed, locate
from jumpbench.tables.planning.ownmodules import find_own_modules
from jumpbench.tables.planning.signatures import arguments_of

_FORMULA = re.compile(r"\$\{([\w.]+)\}")
_OURS = "jumpbench.methods.common.learning_rates."


def refuse_ignored_rates(
    config: Mapping[str, Any], plain: Mapping[str, Any], changed: Sequence[str]
) -> None:
    """Refuses a ``changed`` key (``method.optimizer.lr``) that a schedule overrules.

    Args:
        config: of a run, formulas as written.
        plain: the same, resolved.

    Raises:
        UserError: one does; its line names the keys that are read.
    """
    for key in changed:
        *above, optimizer, last = key.split(".") if key.count(".") > 1 else ("", "")
        if last != "lr":
            continue
        owner = _at(plain, above)
        node = owner.get("scheduler") if isinstance(owner, Mapping) and optimizer in owner else None
        if isinstance(node, Mapping) and _sets_the_rate(str(node.get("_target_", ""))):
            path = [*above, "scheduler"]
            place, kind = _written_at(config, path), str(node["_target_"]).rpartition(".")[2]
            raise UserError(
                f"nothing reads {key}: {place} ({kind}) sets the rate of every step; set "
                f"{_alternatives(place, node)}, or {'.'.join(path)}=null with it"
            )


def _at(config: Any, path: Sequence[str]) -> Any:
    for name in path:
        config = config.get(name) if isinstance(config, Mapping) else None
    return config


def _sets_the_rate(target: str) -> bool:
    """Whether a class is a :class:`~jumpbench.methods.common.learning_rates.RateByStep`."""
    if target.startswith(_OURS):
        return True
    if target.startswith("torch.") or not is_allowed(target):
        return False
    from jumpbench.methods.common.learning_rates import RateByStep

    find_own_modules()
    try:
        schedule = locate(target)
    except UserError:  # told when the run is checked
        return False
    return isinstance(schedule, type) and issubclass(schedule, RateByStep)


def _written_at(config: Mapping[str, Any], path: Sequence[str]) -> str:
    """Where the node stands that a formula at ``path`` (``scheduler: ${scheduler}``) copies."""
    value = _at(config, path)
    formula = _FORMULA.fullmatch(value) if isinstance(value, str) else None
    return _written_at(config, formula[1].split(".")) if formula else ".".join(path)


def _alternatives(place: str, node: Mapping[str, Any]) -> str:
    """The keys that decide how high the rate is."""
    known = arguments_of(node) - {"optimizer"}
    return " or ".join(f"{place}.{name}" for name in sorted({"peak"} & known or known))
