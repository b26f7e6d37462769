"""Formulas of a configuration (``${target.size}``) on plain data.

OmegaConf takes tens of milliseconds to replace the formulas of one run, and the tables of all
papers together plan over a thousand. Nearly every formula names a node: these are looked up here.
Whatever else there is in OmegaConf's grammar (a function, a relative name, a mistake) is left to
OmegaConf, so that values and messages are always its own.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from omegaconf import OmegaConf

from jumpbench.tables.planning import (
    resolvers as resolvers,  # its functions are part of configurations
)

# ${name} or ${name.of.node}, with nothing else between the brackets.
_NODE = re.compile(r"\$\{([A-Za-z_]\w*(?:\.\w+)*)\}")
# The first name of every ${...} of a formula.
_REFERENCE = re.compile(r"\$\{\s*([\w.]+)")


def node_of(formula: str) -> tuple[str, ...] | None:
    """The names of the node that a formula stands for as a whole; None if it is more than that."""
    alone = _NODE.fullmatch(formula)
    return tuple(alone[1].split(".")) if alone else None


class _Beyond(Exception):
    """A formula or a value that OmegaConf has to look at."""


def plain_copy(value: Any) -> Any:
    """A copy of nested dicts and lists of plain values."""
    if isinstance(value, dict):
        return {k: plain_copy(v) for k, v in value.items()}
    return [plain_copy(v) for v in value] if isinstance(value, list) else value


def resolved(config: dict[str, Any]) -> dict[str, Any]:
    """A configuration with every formula replaced by its value.

    Raises:
        OmegaConfBaseException: a formula that has none, or a value that is missing (``???``).
    """
    try:
        return cast(dict[str, Any], _Lookup(config).value(config, ()))
    except _Beyond:
        whole = OmegaConf.to_container(
            OmegaConf.create(config), resolve=True, throw_on_missing=True
        )
        return cast(dict[str, Any], whole)


def resolved_but(config: dict[str, Any], key: str, untouched: Sequence[str]) -> Any:
    """The node of that dotted name, with formulas replaced except those of ``kept`` nodes alone.

    Raises:
        OmegaConfBaseException: a formula that has no value.
    """
    lookup = _Lookup(config, lambda formula: all(_below(n, untouched) for n in _names(formula)))
    path = tuple(key.split("."))
    return lookup.value(lookup.raw(path), path)


class _Lookup:
    """Values of the nodes of ``config``, formulas that ``stay`` left as they are."""

    def __init__(self, config: dict[str, Any], stays: Callable[[str], bool] | None = None) -> None:
        self._config, self._stays = config, stays
        self._by_omegaconf: Any = None

    def raw(self, path: Sequence[str]) -> Any:
        """The node at that path as it was written; _Beyond if none is found."""
        node: Any = self._config
        for name in path:
            if not isinstance(node, dict) or name not in node:
                raise _Beyond
            node = node[name]
        return node

    def value(self, raw: Any, place: tuple[Any, ...]) -> Any:
        """Plain data for the node ``raw`` at ``place``."""
        if isinstance(raw, dict):
            return {k: self.value(v, (*place, k)) for k, v in raw.items()}
        if isinstance(raw, list):
            return [self.value(v, (*place, i)) for i, v in enumerate(raw)]
        if not isinstance(raw, str) or (self._stays and ("\\${" in raw or self._stays(raw))):
            return raw
        try:
            return self._of_text(raw)
        except (_Beyond, RecursionError):
            if raw != "???":
                return self._in_omegaconf(place)
            if self._stays:
                return raw
            raise

    def _of_text(self, text: str) -> Any:
        """The value of a text, with whatever it names; _Beyond for what is not a plain lookup."""
        if text == "???" or ("\\" in text and "${" in text):
            raise _Beyond
        if "${" not in text:
            return text
        if path := node_of(text):
            return self._of_node(path)
        filled = _NODE.sub(lambda named: self._as_text(named[1].split(".")), text)
        if filled == text:
            raise _Beyond
        return self._of_text(filled)

    def _of_node(self, path: Sequence[str]) -> Any:
        def whole(raw: Any) -> Any:
            if isinstance(raw, dict):
                return {k: whole(v) for k, v in raw.items()}
            if isinstance(raw, list):
                return [whole(v) for v in raw]
            return self._of_text(raw) if isinstance(raw, str) else raw

        return whole(self._reached(path))

    def _reached(self, path: Sequence[str]) -> Any:
        """The raw node of that path, also through nodes that are formulas themselves."""
        node: Any = self._config
        for name in path:
            if isinstance(node, str) and (named := node_of(node)):
                node = self._reached(named)
            if not isinstance(node, dict) or name not in node:
                raise _Beyond
            node = node[name]
        return node

    def _as_text(self, path: Sequence[str]) -> str:
        value = self._of_node(path)
        if isinstance(value, dict | list):
            raise _Beyond
        return str(value)

    def _in_omegaconf(self, place: tuple[Any, ...]) -> Any:
        if self._by_omegaconf is None:
            self._by_omegaconf = OmegaConf.create(self._config)
        *path, last = place
        parent = self._by_omegaconf
        for key in path:
            parent = parent[key]
        value = parent[last]
        return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value


def _names(formula: str) -> list[str]:
    return [name.strip(".") for name in _REFERENCE.findall(formula)]


def _below(name: str, nodes: Sequence[str]) -> bool:
    return any(name == node or name.startswith(f"{node}.") for node in nodes)
