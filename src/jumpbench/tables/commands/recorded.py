"""Recorded results: copies of ``table.json`` beside the table files, and what is shown of them."""

from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.files import write_atomic
from jumpbench.paths import checkout, data_root, outputs_root, reproduce_dir, suite_root, table_file
from jumpbench.tables.judging.recorded_runs import RecordedRuns
from jumpbench.tables.language.scale import SCALES
from jumpbench.tables.runs.store import read_json
from jumpbench.tables.views.render import to_json


def recorded_file(table_id: str, scale: str) -> Path:
    """Where the record of a table at a scale is, if there is one: beside its file."""
    slug, name = table_id.split("/")
    file = table_file(table_id)
    folder = file.parent if file else reproduce_dir() / slug
    return folder / "results" / f"{name}.{scale}.json"


def place_for_record(table_id: str, scale: str) -> Path:
    """Where a record is written: never into an installed package."""
    path = recorded_file(table_id, scale)
    if checkout() is None and path.is_relative_to(suite_root()):
        slug = table_id.split("/")[0]
        return outputs_root() / "recorded" / slug / "results" / path.name
    return path


def recorded_scales(table_id: str) -> list[str]:
    return [scale for scale in SCALES if recorded_file(table_id, scale).is_file()]


def write_record(table_id: str, scale: str, content: dict[str, Any]) -> Path:
    """Write a record. Folders of this machine are called by their variables, and home ``~``."""
    path = place_for_record(table_id, scale)
    text = to_json(content)
    places = {
        "$JUMPBENCH_OUTPUTS": outputs_root(), "$JUMPBENCH_DATA": data_root(), "~": Path.home(),
    }  # fmt: skip
    for name, folder in places.items():
        text = text.replace(f"{folder.absolute()}/", f"{name}/")
    write_atomic(path, text)
    return path


def read_record(table_id: str, scale: str) -> dict[str, Any]:
    """The content of a record.

    Raises:
        UserError: it is damaged.
    """
    return read_content(recorded_file(table_id, scale), "record it again")


def recorded_runs(table_id: str, scale: str) -> RecordedRuns | None:
    """The runs of a record, None if there is no record.

    Raises:
        UserError: it is damaged.
    """
    path = place_for_record(table_id, scale)
    if not path.is_file():
        return None
    return RecordedRuns(read_content(path, "record it again"), str(path))


def read_content(path: Path, remedy: str) -> dict[str, Any]:
    """The content of a ``table.json``.

    Raises:
        UserError: it is damaged.
    """
    content = read_json(path, remedy)
    needed = {"table": str, "scale": str, "cells": list, "claims": list, "provenance": dict}
    if not isinstance(content, dict) or any(
        not isinstance(content.get(key), kind) for key, kind in needed.items()
    ):
        raise UserError(f"{path} is damaged (no table in it); {remedy}")
    return content
