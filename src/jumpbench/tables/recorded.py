"""Recorded results: copies of ``table.json`` beside the table files, and what is shown of them."""

import shlex
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.files import write_atomic
from jumpbench.paths import checkout, outputs_root, reproduce_dir, suite_root
from jumpbench.tables.cells import Cell
from jumpbench.tables.language import SCALES, Table
from jumpbench.tables.layout import View
from jumpbench.tables.render import to_json
from jumpbench.tables.spec import load
from jumpbench.tables.store import read_json


def recorded_file(table_id: str, scale: str) -> Path:
    """Where the record of a table at a scale is, if there is one."""
    slug, name = table_id.split("/")
    return reproduce_dir() / slug / "results" / f"{name}.{scale}.json"


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
    path = place_for_record(table_id, scale)
    write_atomic(path, to_json(content))
    return path


def read_record(table_id: str, scale: str) -> dict[str, Any]:
    """The content of a record.

    Raises:
        UserError: it is damaged.
    """
    path = recorded_file(table_id, scale)
    content = read_json(path, "record it again")
    needed = {"table": str, "scale": str, "cells": list, "claims": list, "provenance": dict}
    if not isinstance(content, dict) or any(
        not isinstance(content.get(key), kind) for key, kind in needed.items()
    ):
        raise UserError(f"{path} is damaged (no table in it); record it again")
    return content


def recorded_view(table: Table, content: dict[str, Any]) -> View:
    """A record as it is shown."""
    file = str(recorded_file(table.id, content["scale"]))
    cells = [Cell.from_json(cell, file) for cell in content["cells"]]
    return View(table, content["scale"], cells, content["claims"], content["provenance"])


def command_of(content: dict[str, Any]) -> str:
    """What makes a recorded table again, from its record."""
    words = ["reproduce/run_table.sh", content["table"], f"scale={content['scale']}"]
    table = load(content["table"])
    default = table.scales[content["scale"]].seeds if content["scale"] in table.scales else 1
    seeds = content.get("seeds", [])
    if seeds and seeds != list(range(default)):
        counted = seeds == list(range(len(seeds)))
        words.append(f"seeds={len(seeds)}" if counted else f"seeds={seeds}".replace(" ", ""))
    return shlex.join([*words, *content.get("overrides", ())])


def summary(content: dict[str, Any], kind: str = "") -> str:
    """``98 of 98 cells; claims: 1 holds, 2 fail``: a record in a few words."""
    asked = [cell for cell in content["cells"] if cell["asked"]]
    measured = sum(cell["status"] == "measured" for cell in asked)
    text = f"{measured} of {len(asked)} cells"
    verdicts = [cell["verdict"] for cell in asked if cell["verdict"]]
    if verdicts:
        text += f"; {verdicts.count('match')} ≈, {verdicts.count('better')} ▲, "
        text += f"{verdicts.count('worse')} ▼"
    claims = [claim["holds"] for claim in content["claims"]]
    if (kind or content.get("kind")) in ("smoke", "miniature") or not claims:
        return text
    names = {True: ("holds", "hold"), False: ("fails", "fail"), None: ("open", "open")}
    words = [f"{claims.count(k)} {v[claims.count(k) > 1]}" for k, v in names.items() if k in claims]
    return text + "; claims: " + ", ".join(words)
