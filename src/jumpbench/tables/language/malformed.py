"""A mistake in a table file, told in the words of the file: the place, what is wrong, what fits."""

from dataclasses import fields
from typing import Any

from pydantic import ValidationError

from jumpbench.tables.language.extension import Path_
from jumpbench.tables.language.metric import Metric
from jumpbench.tables.language.scale import Scale
from jumpbench.tables.language.types import Claim, Column, Row, Table

GIVEN = ("id", "file", "foreign")
"""Fields of a table that its file does not state."""


class Malformed(Exception):
    """A mistake in a table file: where (keys and list positions) and what."""

    def __init__(self, place: Path_, what: str) -> None:
        super().__init__(what)
        self.place, self.what = place, what


def spelled(place: Path_) -> str:
    """``rows[0].columns``: a place in the file as a reader would write it."""
    text = ""
    for step in place:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text or "the table"


def malformed(error: ValidationError, raw: Any) -> Malformed:
    """The first of pydantic's errors in our words."""
    errors = error.errors(include_url=False)
    unknown = [e for e in errors if e["type"] == "unexpected_keyword_argument"]
    first = (unknown or errors)[0]  # a misspelled key is why another one is missing
    place = _inside(first["loc"], raw)
    kind, value = first["type"], first["input"]
    last, outer = (place[-1], spelled(place[:-1])) if place else ("", "")
    if kind == "missing":
        key = first["loc"][-1]
        return Malformed(place, f"{spelled(place)} lacks '{key}'")
    if kind == "unexpected_keyword_argument":
        return Malformed(place, f"unknown key '{last}' in {outer}{_known(first['loc'])}")
    if kind in ("tuple_type", "list_type"):
        return Malformed(place, f"'{last}' in {outer} must be a list")
    if kind in ("dataclass_type", "mapping_type", "dict_type"):
        return Malformed(place, f"{spelled(place)} must be a mapping, not {value!r}")
    words = first["msg"].removeprefix("Value error, ").removeprefix("Input ").replace("'", '"')
    return Malformed(place, f"{spelled(place)}: {words}" + _shown(value))


def _shown(value: Any) -> str:
    return f", not {str(value)[:40]!r}" if isinstance(value, str | int | float | None) else ""


def _known(loc: tuple[str | int, ...]) -> str:
    """Keys that the object at ``loc`` may have, or the name that replaced an old one."""
    kinds = {"metrics": Metric, "rows": Row, "columns": Column, "scales": Scale, "claims": Claim}
    kind = Table if len(loc) == 1 else kinds.get(str(loc[0])) if len(loc) == 3 else None
    if kind is None:
        return ""
    names = [field.name for field in fields(kind) if field.name not in GIVEN]
    return "; known: " + ", ".join(names)


def _inside(loc: tuple[str | int, ...], raw: Any) -> Path_:
    """The part of pydantic's location that is a place in the file (it adds names of types)."""
    place: list[str | int] = []
    for step in loc:
        listed = isinstance(raw, tuple) and isinstance(step, int) and step < len(raw)
        if listed or (isinstance(raw, dict) and step in raw):
            raw = raw[step]
        else:
            continue
        place.append(step)
    return tuple(place)
