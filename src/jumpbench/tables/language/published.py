"""The published numbers of a table file, and how each was rounded."""

from collections.abc import Iterator, Mapping
from typing import Any

from jumpbench.tables.language.extension import Path_
from jumpbench.tables.language.malformed import Malformed, spelled
from jumpbench.tables.language.plainyaml import Printed
from jumpbench.tables.language.types import Published


def published_numbers(raw: Any) -> Iterator[tuple[str, dict[str, dict[str, Published]]]]:
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
