"""A configuration as YAML, with a comment behind every value."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaml

Keys = tuple[str | int, ...]
COLUMN = 48
"""Where comments begin, behind lines that are shorter."""


class _Dumper(yaml.SafeDumper):
    """Block style, but lists of plain values on one line."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _list(dumper: yaml.SafeDumper, value: list[Any]) -> yaml.Node:
    plain = not any(isinstance(each, dict | list) for each in value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=plain)


_Dumper.add_representer(list, _list)


def by_key(node: Any, said: Callable[[Keys], str], keys: Keys = ()) -> dict[Keys, str]:
    """What is said of every value of a configuration, of a list of plain ones as a whole."""
    inner = dict(enumerate(node)) if isinstance(node, list) else node
    if isinstance(node, list) and not any(isinstance(each, dict | list) for each in node):
        inner = {}
    if not isinstance(inner, dict) or not inner:
        return {keys: said(keys)}
    return {
        k: v for key, each in inner.items() for k, v in by_key(each, said, (*keys, key)).items()
    }


def annotated(config: dict[str, Any], comments: Mapping[Keys, str]) -> list[str]:
    """Lines of YAML of plain data, each value with its comment."""
    text = yaml.dump(
        config, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf")
    )
    lines = text.splitlines()
    for keys, line in _values(yaml.compose(text), ()):
        lines[line] = f"{lines[line]:<{COLUMN}}  # {comments[keys]}"
    return lines


def _values(node: Any, keys: Keys) -> Iterator[tuple[Keys, int]]:
    """Keys and last line of every value of a document."""
    if isinstance(node, yaml.MappingNode) and node.value:
        for key, value in node.value:
            name = yaml.constructor.SafeConstructor().construct_object(key)
            yield from _values(value, (*keys, name))
    elif isinstance(node, yaml.SequenceNode) and not node.flow_style:
        for i, value in enumerate(node.value):
            yield from _values(value, (*keys, i))
    else:
        yield keys, node.end_mark.line
