"""Composed configurations: groups by Hydra, values on top of them, nodes copied between runs.

Hydra composes an experiment with its groups once; the many runs of a table that differ in values
alone (``method.n_steps=8``) take a copy of that and change the values. The order is Hydra's: what
is written ``key=value`` for a group (``network=...``) is part of the composition, every other
override is applied to the result, from left to right.
"""

import copy
import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from jumpbench.errors import UserError, innermost
from jumpbench.paths import conf_dir, own_conf_dir
from jumpbench.tables import composition_cache
from jumpbench.tables import resolvers as resolvers  # its formulas are part of configurations
from jumpbench.tables.names import no_such

# The first name of every ${...} of a formula.
_REFERENCE = re.compile(r"\$\{\s*([\w.]+)")
_FAILURES = (HydraException, OmegaConfBaseException, ValueError, AssertionError)


def experiments() -> list[str]:
    """All experiment names (``slug/name``)."""
    folders = [root / "experiment" for root in _roots()]
    return sorted(
        {str(p.relative_to(f).with_suffix("")) for f in folders for p in f.rglob("*.yaml")}
    )


def composed(experiment: str, overrides: Sequence[str] = ()) -> DictConfig:
    """The configuration of an experiment with overrides, the caller's own to change.

    Raises:
        UserError: unknown experiment, group, option or key; an override that is no override.
    """
    return with_copies(experiment, overrides, {})


def copied_nodes(config: DictConfig, keys: Sequence[str], experiment: str) -> dict[str, Any]:
    """Nodes of a run as plain values, to be put into a run that it needs.

    Formulas (``${target.size}``) are replaced by their values, except those that speak of copied
    nodes, of ``needs`` or of ``seed``: the run that gets them has these too, so that a change made
    to the copy (``target.beta=0.28``) reaches everything that is computed from it.

    Raises:
        UserError: the run has no such node.
    """
    kept = (*keys, "needs", "seed")
    formulas = _Formulas(config, lambda formula: all(_below(n, kept) for n in _names(formula)))
    nodes = {}
    for key in keys:
        if OmegaConf.select(config, key, default=None) is None:
            where = OmegaConf.select(config, key.rpartition(".")[0]) if "." in key else config
            known = map(str, where) if isinstance(where, DictConfig) else ()
            raise UserError(f"experiment {experiment}: copy: {no_such('node', key, known)}")
        nodes[key] = formulas.resolved(key)
    return nodes


def resolved_but(config: DictConfig, kept: Sequence[str]) -> DictConfig:
    """The configuration with all formulas replaced by their values, except those that depend on
    the nodes ``kept``; for callers that change these nodes many times."""
    raw = OmegaConf.to_container(config, resolve=False)

    def depends(value: Any, seen: tuple[str, ...] = ()) -> bool:
        if isinstance(value, (dict, list)):
            parts = value.values() if isinstance(value, dict) else value
            return any(depends(part, seen) for part in parts)
        if not isinstance(value, str) or "${" not in value or value in seen:
            return False
        known = (*seen, value)
        return any(_below(n, kept) or depends(_lookup(raw, n), known) for n in _names(value))

    formulas = _Formulas(config, depends)
    return OmegaConf.create({str(key): formulas.resolved(str(key)) for key in config})


def with_copies(experiment: str, overrides: Sequence[str], nodes: dict[str, Any]) -> DictConfig:
    """An experiment whose nodes are replaced by ``nodes``; then the values of ``overrides``.

    A group chosen by an override (``network=...``) wins over a copied node of that name.
    """
    parsed = [_parsed(experiment, text) for text in overrides]
    groups = [o for o in parsed if _chooses_group(o)]
    config = copy.deepcopy(_composed_groups(experiment, tuple(o.input_line for o in groups)))
    chosen = {o.key_or_group for o in groups}
    with open_dict(config):
        for key, value in nodes.items():
            if key not in chosen:
                OmegaConf.update(config, key, copy.deepcopy(value), merge=False, force_add=True)
    for override in parsed:
        if not _chooses_group(override):
            _set(experiment, config, override)
    return config


def explained(error: BaseException) -> str:
    """The telling part of a Hydra or OmegaConf message, on one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    cause = str(innermost(error)).strip().splitlines()
    if cause and cause[0].strip() not in text:
        text += f" ({cause[0].strip()})"
    return text[:400]


def forget() -> None:
    """Read the configuration files again."""
    composition_cache.forget()
    _composed_groups.cache_clear()
    _is_group.cache_clear()


def _roots() -> list[Any]:
    return [root for root in (conf_dir(), own_conf_dir()) if root]


@functools.cache
def _composed_groups(experiment: str, groups: tuple[str, ...]) -> DictConfig:
    if experiment not in experiments():
        raise no_such("experiment", experiment, experiments())
    own = own_conf_dir()
    search = [f"hydra.searchpath=[file://{own}]"] if own else []
    chosen = [f"experiment={experiment}", *search, *groups]

    def by_hydra() -> DictConfig:
        with initialize_config_dir(str(conf_dir()), version_base="1.3"):
            return compose("run", overrides=chosen)

    try:
        return composition_cache.kept(by_hydra, _roots(), chosen)
    except _FAILURES as error:
        raise UserError(f"experiment {experiment}: {explained(error)}") from None
    except yaml.YAMLError as error:
        raise UserError(f"experiment {experiment}: {' '.join(str(error).split())}") from None


@functools.cache
def _parse(text: str) -> Override:
    return OverridesParser.create().parse_override(text)


def _parsed(experiment: str, text: str) -> Override:
    try:
        override = _parse(text)
    except _FAILURES as error:
        raise UserError(f"experiment {experiment}: {explained(error)}") from None
    if override.is_sweep_override():
        key, _, values = text.partition("=")
        raise UserError(
            f"experiment {experiment}: {text[:80]}: a run has one value; "
            f"if a list is meant, write {key}=[{values}]"
        )
    return override


@functools.cache
def _is_group(name: str) -> bool:
    return any((root / name).is_dir() for root in _roots())


def _chooses_group(override: Override) -> bool:
    return override.package is not None or _is_group(override.key_or_group)


def _set(experiment: str, config: DictConfig, override: Override) -> None:
    """One value, as Hydra sets it: ``key=`` must exist, ``+key=`` must not, ``~key`` goes."""
    key, value = override.key_or_group, override.value()
    head, _, last = key.rpartition(".")
    try:
        parent = OmegaConf.select(config, head) if head else config
        there = isinstance(parent, DictConfig) and last in set(parent)
        if override.is_delete():
            if not there:
                raise UserError(f"{override.input_line}: there is no {key}")
            with open_dict(config):
                del parent[last]
        elif override.is_add() and there and parent[last] is not None and _is_plain(value):
            raise UserError(f"{override.input_line}: {key} is there already; leave out the +")
        elif override.is_add() or override.is_force_add():
            OmegaConf.update(config, key, value, merge=True, force_add=True)
        else:
            _must_exist(config, key)
            OmegaConf.update(config, key, value, merge=True)
    except UserError as error:
        raise UserError(f"experiment {experiment}: {error}") from None
    except (OmegaConfBaseException, ValueError, TypeError, AssertionError) as error:
        raise UserError(
            f"experiment {experiment}: {override.input_line}: {explained(error)}"
        ) from None


def _is_plain(value: Any) -> bool:
    return not isinstance(value, (dict, list))


def _must_exist(config: DictConfig, key: str) -> None:
    """Raises :class:`UserError` with the nearest name if a key is not part of the configuration."""
    node: Any = config
    names = key.split(".")
    for i, name in enumerate(names):
        if isinstance(node, DictConfig) and name not in set(node):
            known = [".".join([*names[:i], str(k)]) for k in node]
            raise UserError(
                f"{no_such('key', '.'.join(names[: i + 1]), known)} (a new key is written +{key}=)"
            )
        if not OmegaConf.is_config(node) or i == len(names) - 1:
            return  # a list's element, or beneath a plain value: OmegaConf says what is wrong
        node = OmegaConf.select(node, name, throw_on_missing=False)


def _names(formula: str) -> list[str]:
    return [name.strip(".") for name in _REFERENCE.findall(formula)]


def _below(name: str, nodes: Sequence[str]) -> bool:
    return any(name == node or name.startswith(f"{node}.") for node in nodes)


def _lookup(raw: Any, name: str) -> Any:
    """The raw node of that dotted name, as far as there is one."""
    node: Any = None
    for part in name.split("."):
        if not isinstance(raw, dict) or part not in raw:
            return node
        node = raw = raw[part]
    return node


class _Formulas:
    """Replaces ``${...}`` by values in nodes of ``config``, except formulas that ``stay``."""

    def __init__(self, config: DictConfig, stays: Callable[[str], bool]) -> None:
        self._config, self._stays = config, stays
        self._raw = OmegaConf.to_container(config, resolve=False)

    def resolved(self, key: str) -> Any:
        """The node of that dotted name as plain data."""
        parent, raw = self._config, self._raw
        *path, last = key.split(".")
        for name in path:
            parent, raw = parent[name], raw[name]
        return self._resolved(parent, last, raw[last])

    def _resolved(self, parent: Any, key: Any, raw: Any) -> Any:
        if isinstance(raw, dict):
            return {k: self._resolved(parent[key], k, v) for k, v in raw.items()}
        if isinstance(raw, list):
            return [self._resolved(parent[key], i, v) for i, v in enumerate(raw)]
        if not isinstance(raw, str) or "${" not in raw or "\\${" in raw or self._stays(raw):
            return raw
        value = parent[key]
        return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
