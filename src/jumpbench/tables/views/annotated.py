"""A configuration as YAML, with a comment behind every value."""

from collections.abc import Callable, Iterator
from typing import Any

import yaml

Keys = tuple[str | int, ...]
_COLUMN = 48
"""Where comments begin, behind lines that are shorter."""


class _Dumper(yaml.SafeDumper):
    """Block style, but lists of plain values on one line."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _list(dumper: yaml.SafeDumper, value: list[Any]) -> yaml.Node:
    plain = not any(isinstance(each, dict | list) for each in value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=plain)


_Dumper.add_representer(list, _list)


def annotated(config: dict[str, Any], comment: Callable[[Keys], str]) -> str:
    """YAML of plain data; ``comment`` is asked for every value, and once for a list of plain ones."""
    text = yaml.dump(
        config, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf")
    )
    lines = text.splitlines()
    for keys, line in _values(yaml.compose(text), ()):
        lines[line] = f"{lines[line]:<{_COLUMN}}  # {comment(keys)}"
    return "\n".join(lines) + "\n"


def _values(node: Any, keys: Keys) -> Iterator[tuple[Keys, int]]:
    """Keys and line of every value of a document, of a list of plain ones as a whole."""
    if isinstance(node, yaml.MappingNode) and node.value:
        constructor = yaml.constructor.SafeConstructor()
        for key, value in node.value:
            yield from _values(value, (*keys, constructor.construct_object(key)))
    elif isinstance(node, yaml.SequenceNode) and not node.flow_style:
        for i, value in enumerate(node.value):
            yield from _values(value, (*keys, i))
    else:
        yield keys, node.end_mark.line
