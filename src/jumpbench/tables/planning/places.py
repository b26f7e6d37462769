"""Where every value of a composed configuration was written: a line of a file, or typed.

The files and their packages are those of Hydra's own list of defaults, put on top of each other in
its order; then come the overrides, in theirs. Nothing of it is needed to plan a run.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from jumpbench.paths import conf_dirs, suite_root
from jumpbench.tables.planning import ownchoices
from jumpbench.tables.planning.composition import composed, replacing
from jumpbench.tables.planning.fast.formulas import node_of
from jumpbench.tables.planning.hydra_groups import composed_files
from jumpbench.tables.planning.hydra_overrides import chooses_group, parsed_override
from jumpbench.tables.planning.scalefiles import expanded, scale_file

Keys = tuple[str | int, ...]
"""Keys and list positions that lead to a node of a configuration."""


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


def _inside(keys: Sequence[str | int], node: Node) -> Node:
    """A node that has nothing but ``node``, at these keys."""
    for key in reversed(keys):
        node = Node(node.place, {key: node})
    return node


def _of_value(value: Any, place: Place) -> Node:
    """A value that stands at one place as a whole."""
    if isinstance(value, dict):
        return Node(place, {key: _of_value(each, place) for key, each in value.items()})
    if isinstance(value, list):
        return Node(place, dict(enumerate(_of_value(v, place) for v in value)), is_list=True)
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


def of_scale(override: str, place: Place) -> list[tuple[str, Place]]:
    """The overrides that one of a table stands for, each with its place: those of the scale that
    it names, or itself."""
    texts = expanded([override])
    if (named := scale_file(override)) is None:
        return [(text, place) for text in texts]
    file, names = named
    content = of_file(file).at(names)
    lines = _flat(content, "") if content else {}
    return [(text, lines[_bare(text.partition("=")[0])]) for text in texts]


def _flat(node: Node, above: str) -> dict[str, Place]:
    """Dotted keys of a scale without ``+`` and ``~``, groups as they are called, and lines."""
    lines: dict[str, Place] = {}
    for key, inner in (node.inner or {}).items():
        if above == "" and key == "defaults":
            for entry in (inner.inner or {}).values():
                lines |= {str(k).split("/", 1)[-1]: n.place for k, n in (entry.inner or {}).items()}
            continue
        name = f"{above}.{_bare(str(key))}".strip(".")
        lines |= {name: inner.place, **_flat(inner, name)}
    return lines


def _bare(key: str) -> str:
    return key.lstrip("+~")


def _of_files(experiment: str | None, groups: tuple[str, ...]) -> Node:
    """What the files of a composition say."""
    whole = Node(TYPED, {})
    for name, package in composed_files(experiment, groups):
        content = of_file(next(f for root in conf_dirs() if (f := root / name).is_file()))
        inner = {key: node for key, node in (content.inner or {}).items() if key != "defaults"}
        whole = whole.under(
            _inside(package.split(".") if package else [], Node(content.place, inner))
        )
    return whole


@dataclass(frozen=True)
class Places:
    """The places of one configuration; ``raw`` is it with formulas as written."""

    raw: Mapping[str, Any] = field(repr=False)
    written: Node = field(repr=False)

    def of(self, keys: Keys) -> tuple[Place, str | None]:
        """Where the value at these keys of the resolved configuration was written, and the formula
        that it was made of, if one stands there.

        A node that is a formula (``rate: ${schedule}``) has the places of the node it names.
        """
        raw: Any = self.raw
        for i, key in enumerate(keys):
            inner = dict(enumerate(raw)) if isinstance(raw, list) else raw
            raw = inner.get(key) if isinstance(inner, Mapping) else None
            if isinstance(raw, str) and "${" in raw:
                named, rest = node_of(raw), keys[i + 1 :]
                if rest and named is not None:
                    return self.of((*named, *rest))
                return self._place(keys[: i + 1]), raw
        return self._place(keys), None

    def said(self, keys: Keys) -> str:
        """:meth:`of` in words: ``conf/method/x.yaml:3 ${seed}``."""
        place, formula = self.of(keys)
        return f"{place} {formula}" if formula else str(place)

    def _place(self, keys: Keys) -> Place:
        node = self.written.at(keys)
        assert node is not None, keys
        return node.place


def places(experiment: str, overrides: Iterable[tuple[str, Place]]) -> Places:
    """The places of an experiment's configuration with overrides, each with its own.

    Raises:
        UserError: as :func:`~jumpbench.tables.planning.composition.composed`.
    """
    placed = list(overrides)
    raw = composed(experiment, [text for text, _ in placed])
    parsed = [(parsed_override(experiment, text), place) for text, place in placed]
    groups = [override for override, _ in parsed if chooses_group(override)]
    classes = ownchoices.classes(groups)
    named = tuple(str(o.input_line) for o in groups if o.key_or_group not in classes)
    whole = _of_files(experiment, named)
    for group, line in replacing(experiment, groups).items():
        kept = {k: v for k, v in (whole.inner or {}).items() if k != group}
        alone = _of_files(None, (line,)).at([group])
        whole = Node(whole.place, {**kept, **({group: alone} if alone else {})})
    for override, place in parsed:
        group = override.key_or_group
        if group in classes and override in groups:  # a class in the place of all that files say
            rest = {k: v for k, v in (whole.inner or {}).items() if k != group}
            whole = Node(whole.place, {**rest, group: _of_value(raw.get(group), place)})
    for override, place in parsed:
        if not chooses_group(override) and not override.is_delete():
            keys = [int(key) if key.isdigit() else key for key in _names(override.key_or_group)]
            whole = whole.under(_inside(keys, _of_value(override.value(), place)))
    return Places(raw, whole)


def _names(key: str) -> list[str]:
    return key.replace("[", ".").replace("]", "").split(".")
