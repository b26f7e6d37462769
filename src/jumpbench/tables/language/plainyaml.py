"""Plain values of a YAML text, with the line of every key, and of numbers as they are printed."""

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import yaml

from jumpbench.errors import UserError
from jumpbench.names import visible
from jumpbench.tables.language.extension import Lines, Path_
from jumpbench.tables.language.malformed import Malformed, spelled

# libyaml's is ten times as fast; both build plain values only.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def nodes_of(path: Path, text: str | None = None) -> yaml.Node | None:
    """The nodes of a file, or of the text that it will hold; None of an empty one.

    Raises:
        UserError: it cannot be read, or is not YAML.
    """
    try:
        text = path.read_text(encoding="utf-8") if text is None else text
        return yaml.compose(text, Loader=_LOADER)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f" line {mark.line + 1}" if mark else ""
        what = getattr(error, "problem", None) or "it is not text"
        raise UserError(f"{path}{place}: not valid YAML: {what}") from None


def plain(node: yaml.Node, lines: Lines) -> Any:
    """Plain values of a node; sequences are tuples; where each key and item stands goes to lines.

    Raises:
        Malformed: a key that stands twice in one mapping, or is no text.
    """
    return _values(node, (), lines, yaml.constructor.SafeConstructor())


def _values(
    node: yaml.Node, place: Path_, lines: Lines, constructor: yaml.constructor.SafeConstructor
) -> Any:
    if isinstance(node, yaml.MappingNode):
        constructor.flatten_mapping(node)
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = constructor.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                lines[(*place, str(key))] = key_node.start_mark.line + 1
                what = f"the key {key!r} in {spelled(place)} must be text: quote it"
                raise Malformed((*place, str(key)), what)
            lines[(*place, key)] = key_node.start_mark.line + 1
            if key in values:
                raise Malformed((*place, key), f"'{key}' stands twice in {spelled(place)}")
            values[key] = _values(value_node, (*place, key), lines, constructor)
        return values
    if isinstance(node, yaml.SequenceNode):
        for i, item in enumerate(node.value):
            lines[(*place, i)] = item.start_mark.line + 1
        return tuple(
            _values(item, (*place, i), lines, constructor) for i, item in enumerate(node.value)
        )
    value = constructor.construct_object(node)
    if isinstance(value, str) and visible(line := " ".join(value.split())) != line:
        raise Malformed(place, f"{spelled(place)} has control characters: {visible(value)[:60]!r}")
    if type(value) in (int, float) and place[:1] == ("published",):
        return Printed(value, node.value)
    return value


class Printed(float):
    """A number with the text it was written as, whose last digit says how it was rounded."""

    def __new__(cls, value: float, text: str) -> "Printed":
        number = super().__new__(cls, value)
        number.rounding = _rounding(text)
        return number

    rounding: float


def _rounding(text: str) -> float:
    """Half a unit of the last digit: 0.005 for ``0.30``, 0.5 for ``12``."""
    try:
        exponent = Decimal(text.replace("_", "")).as_tuple().exponent
    except InvalidOperation:
        return 0.0
    return 0.5 * 10.0**exponent if isinstance(exponent, int) else 0.0
