"""Where every value of a composed configuration was written: a line of a file, or typed.

The files and their packages are those of Hydra's own list of defaults, put on top of each other in
its order; then come the overrides, in theirs. Nothing of it is needed to plan a run.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jumpbench.paths import conf_dirs
from jumpbench.tables.planning import ownchoices
from jumpbench.tables.planning.composition import composed, replacing
from jumpbench.tables.planning.fast.formulas import node_of
from jumpbench.tables.planning.hydra_groups import composed_files
from jumpbench.tables.planning.hydra_overrides import chooses_group, parsed_override
from jumpbench.tables.planning.nodes import TYPED, Node, Place, inside, of_file, of_value
from jumpbench.tables.planning.scalefiles import expanded, scale_file

Keys = tuple[str | int, ...]
"""Keys and list positions that lead to a node of a configuration."""


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
            inside(package.split(".") if package else [], Node(content.place, inner))
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
            whole = Node(whole.place, {**rest, group: of_value(raw.get(group), place)})
    for override, place in parsed:
        if not chooses_group(override) and not override.is_delete():
            keys = [int(key) if key.isdigit() else key for key in _names(override.key_or_group)]
            whole = whole.under(inside(keys, of_value(override.value(), place)))
    return Places(raw, whole)


def _names(key: str) -> list[str]:
    return key.replace("[", ".").replace("]", "").split(".")
