"""Composed configurations: groups by Hydra, values on top of them, nodes copied between runs.

Hydra composes an experiment with its groups once; the many runs of a table that differ in values
alone (``method.n_steps=8``) take a copy of that and change the values. The order is Hydra's: what
is written ``key=value`` for a group (``network=...``) is part of the composition, every other
override is applied to the result, from left to right.
"""

import functools
import os
from collections.abc import Sequence
from typing import Any

import yaml
from hydra.core.override_parser.types import Override

from jumpbench.errors import UserError
from jumpbench.names import no_such
from jumpbench.paths import conf_dirs
from jumpbench.tables.planning import hydra_groups, hydra_overrides, ownchoices
from jumpbench.tables.planning.fast.formulas import plain_copy, resolved_but
from jumpbench.tables.planning.fast.values import with_value
from jumpbench.tables.planning.hydra_groups import composed_groups
from jumpbench.tables.planning.hydra_overrides import chooses_group, of_one_value
from jumpbench.tables.planning.scalefiles import Stated


def composed(experiment: str, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """The configuration of an experiment with overrides, formulas as written, the caller's own.

    Raises:
        UserError: unknown experiment, group, option or key; an override that is no override.
    """
    return with_copies(experiment, overrides, {})


def copied_nodes(config: dict[str, Any], keys: Sequence[str], experiment: str) -> dict[str, Any]:
    """Nodes of a run as plain values, to be put into a run that it needs.

    Formulas (``${target.size}``) are replaced by their values, except those that speak of copied
    nodes, of ``needs`` or of ``seed``: the run that gets them has these too, so that a change made
    to the copy (``target.beta=0.28``) reaches everything that is computed from it. ``KEY?`` is
    copied where it is set.

    Raises:
        UserError: the run has no such node.
    """
    untouched = (*(key.removesuffix("?") for key in keys), "needs", "seed")
    nodes = {}
    for name, key in zip(keys, untouched, strict=False):
        *above, last = key.split(".")
        where: Any = config
        for part in above:
            where = where.get(part) if isinstance(where, dict) else None
        if not isinstance(where, dict) or where.get(last) is None:
            if name.endswith("?"):
                continue
            known = where if isinstance(where, dict) else ()
            raise UserError(
                f"experiment {experiment}: copy: {no_such('node', key, map(str, known))}"
            )
        nodes[key] = resolved_but(config, key, untouched)
    return nodes


def with_copies(experiment: str, overrides: Sequence[str], nodes: dict[str, Any]) -> dict[str, Any]:
    """An experiment whose nodes are replaced by ``nodes``; then the values of ``overrides``.

    A group chosen by an override (``network=...``) wins over a copied node of that name. A class
    may stand for an option (:mod:`~jumpbench.tables.planning.ownchoices`).
    """
    parsed = [of_one_value(experiment, text) for text in overrides]
    groups = [o for o in parsed if chooses_group(o)]
    classes = ownchoices.classes(groups)
    named = tuple(o.input_line for o in groups if o.key_or_group not in classes)
    config = plain_copy(composed_groups(experiment, named))
    for group, line in replacing(experiment, groups).items():
        config[group] = plain_copy(composed_groups(None, (line,))[group])
    for group, name in classes.items():
        config[group] = ownchoices.in_place_of(config.get(group), name)
    for group, file in ownchoices.own_options(groups).items():
        config[group] = ownchoices.without_foreign_keys(config.get(group), file, experiment)
    chosen = {o.key_or_group for o in groups}
    for key, value in nodes.items():
        if key not in chosen:
            *above, last = key.split(".")
            parent = functools.reduce(_mapping_at, above, config)
            parent[last] = plain_copy(value)
    for text, override in zip(overrides, parsed, strict=True):
        if chooses_group(override):
            continue
        try:
            config = with_value(experiment, config, override)
        except UserError as error:
            if isinstance(text, Stated):
                raise text.misfit(experiment, error) from None
            raise
    return config


def replacing(experiment: str, groups: Sequence[Override]) -> dict[str, str]:
    """{group: override} of the options that stand in the place of a node whose class the
    experiment states itself: all that it says there is of the other class."""
    last = {o.key_or_group: o for o in groups if o.package is None and not o.is_delete()}
    classes = ownchoices.classes(groups)
    own = _run_groups()
    return {
        group: str(o.input_line) if group in own else f"+{str(o.input_line).lstrip('+')}"
        for group, o in last.items()
        if isinstance(o.value(), str) and group not in classes
        if group in _stated(f"experiment/{experiment}")
    }


@functools.cache
def _run_groups() -> frozenset[str]:
    """The groups that every run has."""
    return frozenset(
        key for each in _plain("run")["defaults"] if isinstance(each, dict) for key in each
    )


@functools.cache
def _stated(name: str) -> frozenset[str]:
    """The nodes whose class is stated by an experiment, one that it extends or its settings."""
    content = _plain(name)
    nodes = {str(k) for k, v in content.items() if isinstance(v, dict) and "_target_" in v}
    for each in content.get("defaults") or ():
        if isinstance(each, str) and each != "_self_":
            nodes |= _stated(f"experiment/{each.removeprefix('/experiment/')}")
        elif isinstance(each, dict) and "/setting" in each:
            nodes |= _stated(f"setting/{each['/setting']}")
    return frozenset(nodes)


def _plain(name: str) -> dict[str, Any]:
    """A file of the configuration as it was written."""
    file = next((f for root in conf_dirs() if os.path.isfile(f := root / f"{name}.yaml")), None)
    content = yaml.safe_load(file.read_text(encoding="utf-8")) if file else None
    return content if isinstance(content, dict) else {}


def fitting(
    experiment: str, stated: Sequence[str], typed: Sequence[str]
) -> tuple[list[str], list[str]]:
    """(overrides, notes): those of scales and tables, then the typed ones; without what is stated
    of a node whose class, one's own, has no such argument.

    Raises:
        UserError: as :func:`composed`; a class of one's own that is not there, where its arguments
            are given.
    """
    parsed = {text: of_one_value(experiment, text) for text in (*stated, *typed)}
    groups = [o for text in (*stated, *typed) if chooses_group(o := parsed[text])]
    own = [*ownchoices.classes(groups), *ownchoices.own_options(groups)]
    if not own:
        return [*stated, *typed], []
    config = composed(experiment, [str(o.input_line) for o in groups])
    inside_of = {o.key_or_group.partition(".")[0] for o in parsed.values() if not chooses_group(o)}
    # Of a class that is not there nobody knows the arguments, and its keys would be called wrong.
    ownchoices.check_exist([group for group in own if group in inside_of], config)
    applied, notes = [], []
    for text in stated:
        override = parsed[text]
        inside = None if chooses_group(override) else override.key_or_group
        if inside and (name := ownchoices.not_taken(inside, config, own)):
            notes.append(f"{text} is not applied: {name} has no such argument")
        else:
            applied.append(text)
    return [*applied, *typed], notes


def _mapping_at(config: dict[str, Any], name: str) -> dict[str, Any]:
    if not isinstance(config.get(name), dict):
        config[name] = {}
    return config[name]


def forget() -> None:
    """Read the configuration files again."""
    hydra_groups.forget()
    hydra_overrides.forget()
    _run_groups.cache_clear()
    _stated.cache_clear()
