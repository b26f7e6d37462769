"""From names to runs: compose configurations with Hydra, resolve what they need, give identities.

A run is its configuration. Two cells whose configurations agree share one run; a run that needs
another (a trained prior, ground-truth samples) names it by the other's identity.
"""

import functools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from omegaconf.errors import OmegaConfBaseException

from jumpbench.errors import UserError
from jumpbench.tables.planning import composition, defaults, models, owncode
from jumpbench.tables.planning.composition import composed, copied_nodes, with_copies
from jumpbench.tables.planning.constructors import check_allowed
from jumpbench.tables.planning.fast import planned_runs
from jumpbench.tables.planning.fast.formulas import resolved, resolved_but
from jumpbench.tables.planning.fast.values import explained
from jumpbench.tables.planning.hydra_overrides import parsed_override
from jumpbench.tables.planning.identity import check_name_and_seed, identity, is_anonymous
from jumpbench.tables.planning.ignored_rates import refuse_ignored_rates
from jumpbench.tables.planning.ownchoices import own_name
from jumpbench.tables.planning.run import Run

_NEED_KEYS = {"experiment", "copy", "without", "overrides", "model"}


def plan_run(experiment: str, overrides: Sequence[str] = (), seed: int | None = None) -> Run:
    """The run of one experiment file with overrides.

    Raises:
        UserError: unknown experiment or key, an override that is no override, a missing value.
    """
    return _planned(experiment, tuple(overrides), seed)


def forget() -> None:
    """Read the configuration files again, and plan anew."""
    composition.forget()
    defaults.forget()
    owncode.forget()
    planned_runs.forget()
    _planned.cache_clear()
    _needed.cache_clear()
    _places.clear()


@functools.cache
def _planned(experiment: str, overrides: tuple[str, ...], seed: int | None) -> Run:
    config = composed(experiment, overrides)
    if seed is not None:
        config["seed"] = seed
    passed_on = tuple(o for o in overrides if is_anonymous(o))
    return _plan(experiment, config, passed_on, Request(overrides, seed))


@functools.cache
def _needed(
    experiment: str, overrides: tuple[str, ...], nodes: str, passed_on: tuple[str, ...]
) -> Run:
    """A run that another needs; ``nodes`` are the nodes that it gets from that run, as json."""
    config = with_copies(experiment, (*overrides, *passed_on), json.loads(nodes))
    return _plan(experiment, config, passed_on)


@dataclass(frozen=True)
class Request:
    """What a run was asked for with: overrides of its experiment, and a seed."""

    overrides: tuple[str, ...]
    seed: int | None

    def keys(self, experiment: str) -> list[str]:
        """What the overrides change."""
        return [parsed_override(experiment, text).key_or_group for text in self.overrides]

    def without(self, experiment: str, keys: Sequence[str]) -> tuple[str, ...]:
        """The overrides, but for those of these keys or groups."""
        return tuple(
            o for o in self.overrides if parsed_override(experiment, o).key_or_group not in keys
        )


def _plan(
    experiment: str,
    config: dict[str, Any],
    passed_on: tuple[str, ...],
    request: Request | None = None,
) -> Run:
    needs: dict[str, Run] = {}
    starts: dict[str, str] = {}
    try:
        for key, need in (config.get("needs") or {}).items():
            if need is None:
                continue  # an experiment on top of another may drop what that one needs
            if isinstance(need, dict) and need.get("model") is not None:
                reference = models.model_reference(str(need["model"]))
                starts[str(key)] = config["needs"][key]["folder"] = reference
                continue
            needs[str(key)] = run = _need(experiment, str(key), config, need, passed_on, request)
            config["needs"][key]["folder"] = f"run:{run.hash}"
        _name_by_class(experiment, config)
        plain = resolved(config)
    except OmegaConfBaseException as error:
        told = _in_the_words_of(config, error) or explained(error)
        raise UserError(f"experiment {experiment}: {told}") from None
    try:
        check_allowed(plain)
        check_name_and_seed(plain)
        if request is not None:
            refuse_ignored_rates(config, plain, request.keys(experiment))
    except UserError as error:
        raise UserError(f"experiment {experiment}: {error}") from None
    plain["needs"] = {key: f"run:{run.hash}" for key, run in needs.items()} | starts
    name = re.sub(r"[^A-Za-z0-9._=+-]+", "-", str(plain["name"]))
    try:
        identified = identity(plain)
    except UserError as error:
        raise UserError(f"experiment {experiment}: {error}") from None
    # Experiments that differ in nothing but their names are one run, in one folder.
    slug, name = _places.setdefault(identified, (experiment.split("/")[0], name))
    return Run(slug, name, identified, plain, needs)


def _in_the_words_of(config: dict[str, Any], error: OmegaConfBaseException) -> str | None:
    """What to say of a formula whose node is not there: the first missing name, and the others."""
    missing = re.match(r"Interpolation key '([\w.]+)' not found", str(error))
    if missing is None:
        return None
    node: Any = config
    names = missing[1].split(".")
    for place, name in enumerate(names):
        if not isinstance(node, dict):
            return None
        if name not in node:
            above = ".".join(names[:place])
            return above and f"{above} has no {name}; it has {', '.join(map(str, node))}"
        node = node[name]
    return None


def _name_by_class(experiment: str, config: dict[str, Any]) -> None:
    """A name that speaks of what a target of one's own has not is that target's own name."""
    own = own_name(experiment, config)
    if own is None or "${target." not in str(config.get("name")):
        return
    try:
        resolved_but(config, "name", ())
    except OmegaConfBaseException:
        config["name"] = own


_places: dict[str, tuple[str, str]] = {}


def _need(
    experiment: str, key: str, config: dict[str, Any], need: Any, passed_on: tuple[str, ...],
    request: Request | None,
) -> Run:  # fmt: skip
    """The run under ``needs.KEY``: an experiment, nodes copied from this run, then overrides.

    With ``without: [GROUP]`` nothing is copied: it gets the overrides of this run, but for those
    of these groups or keys, and then its own. So it is the very run that a table's column without
    them has.
    """
    wanted = resolved_but(config, f"needs.{key}", ())
    if (
        not isinstance(wanted, dict)
        or "experiment" not in wanted
        or set(wanted) - _NEED_KEYS - {"folder"}
        or not all(isinstance(wanted.get(k) or [], list) for k in ("copy", "without", "overrides"))
        or ("copy" in wanted and "without" in wanted)
    ):
        raise UserError(
            f"experiment {experiment}: needs.{key} must have experiment, and may have the lists "
            "copy (nodes of this run; KEY? where it is set) or without (groups of this run's "
            "overrides that it does not get), and overrides"
        )
    changes = tuple(map(str, wanted.get("overrides") or ()))
    if "without" in wanted:
        if request is None:
            raise UserError(
                f"experiment {experiment}: needs.{key}.without speaks of this run's overrides, but "
                "it was made of another run's nodes; give that one's needs without as well"
            )
        theirs = request.without(experiment, [str(k) for k in wanted["without"] or ()])
        return _planned(str(wanted["experiment"]), (*theirs, *changes), request.seed)
    nodes = copied_nodes(config, [str(k) for k in wanted.get("copy") or ()], experiment)
    return _needed(str(wanted["experiment"]), changes, json.dumps(nodes), passed_on)
