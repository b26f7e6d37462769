"""The values of YAML files as nodes that know their lines."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from jumpbench.paths import suite_root


@dataclass(frozen=True)
class Place:
    """A line of a file; without a file, the command line."""

    file: Path | None = None
    line: int = 0

    def __str__(self) -> str:
        return "override" if self.file is None else f"{short(self.file)}:{self.line}"


TYPED = Place()


def short(file: Path) -> str:
    """A file of the suite by its path in it, any other in full."""
    root = suite_root().resolve()
    return str(file.relative_to(root) if file.is_relative_to(root) else file)


@dataclass(frozen=True)
class Node:
    """A node of a configuration and its place; ``inner`` is None for a plain value."""

    place: Place
    inner: Mapping[str | int, "Node"] | None = None
    is_list: bool = False

    def under(self, other: "Node | None") -> "Node":
        """This node with another one merged onto it, as OmegaConf merges."""
        if other is None or other.inner is None or other.is_list or self.inner is None:
            return other or self
        below = {
            key: self.inner[key].under(node) if key in self.inner else node
            for key, node in other.inner.items()
        }
        return Node(self.place, {**self.inner, **below}, self.is_list)

    def at(self, keys: Sequence[str | int]) -> "Node | None":
        """The node at these keys; None if none was written."""
        node: Node | None = self
        for key in keys:
            node = (node.inner or {}).get(key) if node else None
        return node


def inside(keys: Sequence[str | int], node: Node) -> Node:
    """A node that has nothing but ``node``, at these keys."""
    for key in reversed(keys):
        node = Node(node.place, {key: node})
    return node


def of_value(value: Any, place: Place) -> Node:
    """A value that stands at one place as a whole."""
    if isinstance(value, dict):
        return Node(place, {key: of_value(each, place) for key, each in value.items()})
    if isinstance(value, list):
        return Node(place, dict(enumerate(of_value(v, place) for v in value)), is_list=True)
    return Node(place)


def _of_yaml(node: yaml.Node | None, file: Path, line: int = 1) -> Node:
    """The content of a file, each value with the line of its key."""
    place = Place(file, line)
    if isinstance(node, yaml.MappingNode):
        constructor = yaml.constructor.SafeConstructor()
        constructor.flatten_mapping(node)
        return Node(place, {
            constructor.construct_object(key): _of_yaml(value, file, key.start_mark.line + 1)
            for key, value in node.value
        })  # fmt: skip
    if isinstance(node, yaml.SequenceNode):
        items = [_of_yaml(each, file, each.start_mark.line + 1) for each in node.value]
        return Node(place, dict(enumerate(items)), is_list=True)
    return Node(place)


def of_file(file: Path) -> Node:
    """Every key of a YAML file with its line."""
    return _read(file, file.stat().st_mtime_ns)


@functools.cache
def _read(file: Path, changed: int) -> Node:
    return _of_yaml(yaml.compose(file.read_text(encoding="utf-8")), file)
