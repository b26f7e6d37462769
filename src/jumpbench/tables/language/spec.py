"""Reading a table file: YAML with the line of every key, types and choices, names that must exist.

Every mistake is one line with the file, the line and the place in it. The types are those of
:mod:`jumpbench.tables.language.types` and :mod:`jumpbench.tables.language.checks`; pydantic checks
them.
"""

import dataclasses
import functools
import json
import re
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from jumpbench.errors import UserError
from jumpbench.names import no_such
from jumpbench.paths import suite_root, table_file, table_ids
from jumpbench.tables.language.extension import Lines, Path_, extended
from jumpbench.tables.language.malformed import GIVEN, Malformed, malformed
from jumpbench.tables.language.plainyaml import nodes_of, plain
from jumpbench.tables.language.published import published_numbers
from jumpbench.tables.language.shorthand import crossed, named
from jumpbench.tables.language.tablenames import check_names
from jumpbench.tables.language.types import Table

_ID = re.compile(r"[^/\\]+/[^/\\]+")


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
    node = nodes_of(path, text)
    lines: Lines = {}
    try:
        raw = plain(node, lines) if node else None
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
    published = dict(published_numbers(raw.get("published") or {}))
    try:
        text = json.dumps({**values, "id": table_id, "file": str(path)}, default=str)
        table = _adapter().validate_json(text)  # strict types, and lists become tuples
    except ValidationError as error:
        raise malformed(error, values) from None
    return dataclasses.replace(table, published=published)
