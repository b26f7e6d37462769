"""Typed overrides that nothing reads: they would give one number under several names."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.planning.composition import composed
from jumpbench.tables.planning.defaults import completed
from jumpbench.tables.planning.hydra_overrides import parsed_override
from jumpbench.tables.planning.identity import DECIDING, NULL_IS_ABSENT, is_anonymous
from jumpbench.tables.planning.plan import plan_run

Call = Callable[[Sequence[str]], tuple[str, Sequence[str]]]
"""What a run is planned by, (experiment, overrides), given the typed overrides."""

_NAMES = {"name"}  # read, though no identity holds it


def refuse_unread(typed: Sequence[str], calls: Sequence[Call]) -> None:
    """Refuses a typed override that no run of a call reads, though it changes a configuration.

    A key is read if the run's identity changes with it; of a table it is enough that one run does.
    A trainer setting or budget of null is one that is not made, and refused nowhere.

    Raises:
        UserError: an override that none reads; or as
            :func:`~jumpbench.tables.planning.plan.plan_run`.
    """
    for i, text in enumerate(typed):
        if is_anonymous(text) or not calls:
            continue
        override = parsed_override(calls[0](typed)[0], text)
        key = override.key_or_group
        if override.value() is None and key.partition(".")[0] in NULL_IS_ABSENT:
            continue
        rest = [*typed[:i], *typed[i + 1 :]]
        ignored = False
        for call in calls if key not in _NAMES else ():
            if reads := _reads(call(typed), call(rest)):
                break
            ignored |= reads is False
        else:
            if ignored:
                raise UserError(f"{text[:80]}: nothing reads {key}{_like(key, calls[0](typed))}")


def _reads(call: tuple[str, Sequence[str]], without: tuple[str, Sequence[str]]) -> bool | None:
    """Whether an override makes another run; None if it leaves the configuration as it was,
    completed by defaults."""
    try:
        if completed(composed(*call)) == completed(composed(*without)):
            return None
        return plan_run(*call).hash != plan_run(*without).hash
    except UserError:  # another override stands on this one
        return True


def _like(key: str, call: tuple[str, Sequence[str]]) -> str:
    """Keys of the same last name that are read."""
    last = key.rpartition(".")[2]
    config = plan_run(*call).config
    same = [k for node in DECIDING for k in _keys(config.get(node), node) if k.endswith(f".{last}")]
    return f"; read are {', '.join(same[:4])}" if same else ""


def _keys(node: Any, place: str) -> Iterator[str]:
    if isinstance(node, Mapping):
        for name, value in node.items():
            yield f"{place}.{name}"
            yield from _keys(value, f"{place}.{name}")
