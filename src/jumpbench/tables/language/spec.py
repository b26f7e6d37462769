"""Reading a table file: YAML with the line of every key, types and choices, names that must exist.

Every mistake is one line with the file, the line and the place in it. The types are those of
:mod:`jumpbench.tables.language.types` and :mod:`jumpbench.tables.language.checks`; pydantic checks
them.
"""

import dataclasses
import functools
import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from jumpbench.errors import UserError
from jumpbench.names import no_such, visible
from jumpbench.paths import suite_root, table_file, table_ids
from jumpbench.tables.language.extension import Lines, Path_, extended
from jumpbench.tables.language.malformed import GIVEN, Malformed, malformed, spelled
from jumpbench.tables.language.shorthand import crossed, named
from jumpbench.tables.language.tablenames import check_names
from jumpbench.tables.language.types import (
    SCALES,
    Claim,
    Column,
    Metric,
    Published,
    Row,
    Scale,
    Table,
)

__all__ = [
    "SCALES", "Claim", "Column", "Metric", "Row", "Scale", "Table", "available", "lines_of",
    "load", "parse",
]  # fmt: skip

_ID = re.compile(r"[^/\\]+/[^/\\]+")
# libyaml's is ten times as fast; both build plain values only.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def available() -> list[str]:
    """Ids (``slug/table``) of all table files, one's own and the suite's."""
    return table_ids()


def load(table_id: str) -> Table:
    """Read and check one table file.

    Raises:
        UserError: no such table, unreadable yaml, a wrong type or choice, unknown or missing keys,
            names that do not match.
    """
    path = table_file(table_id) if _ID.fullmatch(table_id) else None
    if path is None:
        raise no_such("table", table_id, available())
    return parse(table_id, path)


def parse(table_id: str, path: Path, text: str | None = None) -> Table:
    """Read the table file at ``path``, and the one that it extends; ``text``: what it will hold.

    Raises:
        UserError: as :func:`load`.
    """
    raw, lines = _read(table_id, path, (), text)
    try:
        table = _table(table_id, raw, path)
        check_names(table, Malformed)
    except Malformed as error:
        raise _told(error, path, lines) from None
    return table


def _read(
    table_id: str, path: Path, extending: tuple[Path, ...], text: str | None = None
) -> tuple[dict[str, Any], Lines]:
    """Plain values of a file on top of those that it extends, and where its own stand."""
    try:
        text = path.read_text(encoding="utf-8") if text is None else text
        node = yaml.compose(text, Loader=_LOADER)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f" line {mark.line + 1}" if mark else ""
        what = getattr(error, "problem", None) or "it is not text"
        raise UserError(f"{path}{place}: not valid YAML: {what}") from None
    lines: Lines = {}
    try:
        raw = _plain(node, (), lines, yaml.constructor.SafeConstructor()) if node else None
        if not isinstance(raw, dict):
            what = "a table file is a mapping with title, rows, columns, metrics, scales"
            raise Malformed((), what)
        raw = crossed(raw, lines, Malformed)
        if "extends" not in raw:
            return named(raw, lines, Malformed, {}), lines
        base_id = raw["extends"]
        if not isinstance(base_id, str) or not _ID.fullmatch(base_id):
            raise Malformed(("extends",), "extends names one table: SLUG/TABLE")
        below = path if base_id == table_id else None
        base_file = table_file(base_id, below)
        if base_file is None:
            known = [name for name in available() if name != table_id]
            raise Malformed(("extends",), f"extends: {no_such('table', base_id, known)}")
        if base_file in (*extending, path):
            raise Malformed(("extends",), f"extends: {base_id} extends this table")
        base, _ = _read(base_id, base_file, (*extending, path))
        return extended(base, named(raw, lines, Malformed, base), lines, Malformed)
    except Malformed as error:
        raise _told(error, path, lines) from None
    except RecursionError:
        raise UserError(f"{path}: a value contains itself (an alias)") from None


def lines_of(table_id: str, path: Path) -> dict[Path_, tuple[Path, int]]:
    """File and line of every key and item of a table, those of the table that it extends included.

    Raises:
        UserError: as :func:`load`.
    """
    raw, lines = _read(table_id, path, ())
    own = {place: (path, line) for place, line in lines.items()}
    if (base_id := raw.get("extends")) is None:
        return own
    base = table_file(base_id, path if base_id == table_id else None)
    assert base is not None  # it was read
    return lines_of(base_id, base) | own


def _told(error: Malformed, path: Path, lines: Lines) -> UserError:
    place = error.place
    line = next((lines[place[:k]] for k in range(len(place), 0, -1) if place[:k] in lines), None)
    return UserError(f"{path}{f' line {line}' if line else ''}: {error.what}")


def _plain(
    node: yaml.Node, place: Path_, lines: Lines, constructor: yaml.constructor.SafeConstructor
) -> Any:
    """Plain values of a node; sequences are tuples; where each key and item stands goes to lines.

    Raises:
        Malformed: a key that stands twice in one mapping, or is no text.
    """
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
            values[key] = _plain(value_node, (*place, key), lines, constructor)
        return values
    if isinstance(node, yaml.SequenceNode):
        for i, item in enumerate(node.value):
            lines[(*place, i)] = item.start_mark.line + 1
        return tuple(
            _plain(item, (*place, i), lines, constructor) for i, item in enumerate(node.value)
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


@functools.cache
def _adapter() -> TypeAdapter[Table]:
    return TypeAdapter(Table)


def _table(table_id: str, raw: dict[str, Any], path: Path) -> Table:
    for key in GIVEN:
        if key in raw:
            raise Malformed((key,), f"unknown key '{key}' in the table")
    values = {key: value for key, value in raw.items() if key != "published"}
    for key in ("claims", "figures", "reading", "data", "overrides"):
        if values.get(key, ()) is None:
            values[key] = ()
    for key in ("metrics", "scales"):  # their keys are names
        if isinstance(part := values.get(key), dict):
            for name, entry in part.items():
                if isinstance(entry, dict) and "name" in entry:
                    raise Malformed((key, name, "name"), f"unknown key 'name' in {key}.{name}")
            values[key] = {
                name: {"name": name, **(entry or {})} if isinstance(entry, dict | None) else entry
                for name, entry in part.items()
            }
    own = path.resolve()
    suites = (suite_root() / "reproduce" / f"{table_id}.yaml").resolve()
    values["foreign"] = (
        suites.is_file() and own != suites and (own.read_bytes() != suites.read_bytes())
    )
    published = dict(_published(raw.get("published") or {}))
    try:
        text = json.dumps({**values, "id": table_id, "file": str(path)}, default=str)
        table = _adapter().validate_json(text)  # strict types, and lists become tuples
    except ValidationError as error:
        raise malformed(error, values) from None
    return dataclasses.replace(table, published=published)


def _published(raw: Any) -> Iterator[tuple[str, dict[str, dict[str, Published]]]]:
    """``{metric: {row: {column: number}}}``; a number may be ``{value, std}`` or a word."""

    def mapping(value: Any, place: Path_) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise Malformed(place, f"{spelled(place)} must be a mapping")
        return value

    for metric, rows in mapping(raw, ("published",)).items():
        table: dict[str, dict[str, Published]] = {}
        for row, columns in mapping(rows, ("published", metric)).items():
            table[row] = {}
            for column, cell in mapping(columns, ("published", metric, row)).items():
                number = _number(cell, ("published", metric, row, column))
                if number is not None:
                    table[row][column] = number
        yield metric, table


def _number(cell: Any, place: Path_) -> Published | None:
    if cell is None:
        return None
    if not isinstance(cell, dict):
        cell = {"value": cell}
    if set(cell) - {"value", "std"} or "value" not in cell:
        raise Malformed(place, f"{spelled(place)} must be a number, a word, or {{value, std}}")
    value, std = cell["value"], cell.get("std")
    finite = isinstance(value, Printed) and abs(value) < float("inf")
    if not (finite or isinstance(value, str)) or not (std is None or isinstance(std, Printed)):
        raise Malformed(place, f"{spelled(place)} must be a number, not {value!r}")
    if isinstance(value, str):
        return Published(value)
    return Published(float(value), None if std is None else float(std), value.rounding)
