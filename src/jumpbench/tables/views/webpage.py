"""Tables as one web page that stands alone: style, script, figures and numbers are inside it."""

import functools
import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jumpbench.tables.runs.store import run_folder
from jumpbench.tables.views import claimwords, unfinished, wording
from jumpbench.tables.views.captions import caption
from jumpbench.tables.views.embedded import embedded, is_chart
from jumpbench.tables.views.layout import Block, Text, blocks, inside
from jumpbench.tables.views.pagecontent import content, short
from jumpbench.tables.views.races import race_names
from jumpbench.tables.views.runpictures import first_cells, learning_curve, trained_runs
from jumpbench.tables.views.samplesheets import samples_picture
from jumpbench.tables.views.view import View

TEMPLATES = Path(__file__).parent / "templates"
PICTURES = 12
"""Learning curves, and pictures of samples, of one table."""


@dataclass(frozen=True)
class Variant:
    """A table at one scale as the page shows it. ``label`` names it among the table's variants."""

    view: View
    label: str
    command: str
    summary: str = ""
    figures: Mapping[str, Path] = field(default_factory=dict)  # by their names
    bars: bool = False  # the page draws its numbers, as no picture is kept
    with_runs: bool = False  # pictures of its runs, as far as they are here
    lacking: str = ""  # how to make the pictures that are not here


def to_html(view: View, figures: Sequence[Path]) -> str:
    """The page of one table."""
    words = ["jumpbench", "table", view.table.id, f"scale={view.scale_name}", *view.overrides]
    named = {path.stem: path for path in figures}
    variant = Variant(view, view.scale_name, shlex.join(words), figures=named)
    return to_page([[variant]], indexed=False)


def to_page(
    tables: Sequence[Sequence[Variant]],
    indexed: bool = True,
    damaged: Iterable[tuple[str, str]] = (),
    stamp: str = "",
    gpu: Mapping[str, Any] | None = None,
    ranks: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The page of several tables, each in its variants, the first of which is shown.

    Args:
        indexed: with a list of the tables and a search above them.
        damaged: (table, variant) of files that could not be read.
        gpu: what ``jumpbench gpu`` found: ``device``, ``summary`` and ``rows`` of ``run``,
            ``agreement`` and ``throughput``.
        ranks: of samplers over problems, each in ``words`` and ``lines``, a head first.
        stamp: of what is shown; a page with one asks its server for a newer one.
    """
    from markupsafe import Markup

    sections = [_section(variants) for variants in tables]
    one = tables[0][0].view.title if len(tables) == 1 else ""
    return _template().render(
        title=one if one and not indexed else "jumpbench: tables",
        css=Markup((TEMPLATES / "page.css").read_text(encoding="utf-8")),
        script=Markup((TEMPLATES / "page.js").read_text(encoding="utf-8")),
        sections=sections, indexed=indexed, damaged=list(damaged), stamp=stamp,
        gpu=gpu, ranks=ranks,
    )  # fmt: skip


@functools.cache
def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("page.html")


def _section(variants: Sequence[Variant]) -> dict[str, Any]:
    view = variants[0].view
    rows = dict.fromkeys(v.view.row_head(c.row) for v in variants for c in inside(v.view))
    return {
        "id": re.sub(r"[^A-Za-z0-9-]+", "-", view.table.id), "table": view.table.id,
        "words": " ".join([view.table.id, view.table.title, *rows]).lower(),
        "paper": view.table.slug,
        "variants": [_variant(variant) for variant in variants],
    }  # fmt: skip


def _variant(variant: Variant) -> dict[str, Any]:
    view = variant.view
    place = {id(cell): i for i, cell in enumerate(inside(view))}
    shown = [_block(block, place) for block in blocks(view)]
    return {
        "label": variant.label, "title": view.title, "about": view.about, "table": view.table.id,
        "scale_name": view.scale_name, "kind": _kind(view), "summary": variant.summary,
        "banner": wording.banner(view), "counts": wording.counts(view.cells, view.table),
        "legend": wording.legend(view), "unrun": unfinished.unrun(view),
        "the_rest": unfinished.THE_REST, "rest_command": unfinished.rest_command(view),
        "has_best": any(c["best"] for b in shown for r in b["rows"] for c in r["cells"]),
        "blocks": shown, "notes": wording.notes(view), "made_by": wording.made_by(view),
        "collected": view.provenance.get("collected", ""), "command": variant.command,
        "claims": [
            {"state": claimwords.state(c), "text": c["text"], "words": _claim(c)}
            for c in view.claims
        ],
        "claimed_by": "The paper's claims" if view.table.in_print else "Claims of ours",
        "states": " ".join(sorted({claimwords.state(c).replace(" ", "-") for c in view.claims})),
        "status": _status(view),
        "figures": [
            {"caption": caption(view.table, name), "data": data, "chart": is_chart(path)}
            for name, path in variant.figures.items()
            if name not in race_names(view.table) and (data := embedded(path))
        ],
        "lacking": variant.lacking, "bars": variant.bars,
        "content": content(view, variant.command),
        **(_pictures(view) if variant.with_runs else {"curves": [], "samples": []}),
    }  # fmt: skip


def _status(view: View) -> str:
    """What the page filters by: complete, part, or none where no run has given a number; failed or
    data-missing beside them."""
    asked = [cell for cell in view.cells if cell.asked]
    there = sum(cell.has_number for cell in asked)
    words = {c.status for c in asked} & {"failed", "data-missing"}
    return " ".join(["complete" if there == len(asked) else "part" if there else "none", *words])


def _claim(claim: Mapping[str, Any]) -> str:
    """How a claim was decided, or where it points; most details begin with it."""
    words, how = claimwords.claim_words(claim), claimwords.claim_head(claim)
    return words if words.startswith(how) else f"{how}: {words}" if words else how


def _kind(view: View) -> str:
    return "changed by overrides" if view.not_judged else view.scale.kind


def _block(block: Block, place: Mapping[int, int]) -> dict[str, Any]:
    def shown(text: Text) -> dict[str, Any]:
        marks = {"≈": "match", "▲": "better", "▼": "worse"}
        return {
            "kind": marks.get(text.mark, text.status), "best": text.best, "mark": text.mark,
            "measured": text.measured, "paper": text.paper,
            "number": place.get(id(text.cell)),
        }  # fmt: skip

    return {
        "title": wording.title(block.metric), "columns": block.columns, "perfect": block.perfect,
        "perfect_label": block.perfect_label,
        "rows": [{"head": row, "cells": list(map(shown, texts))} for row, texts in block.rows],
    }  # fmt: skip


def _pictures(view: View) -> dict[str, list[dict[str, Any]]]:
    """The learning curve and samples of the first run of each row that has them."""
    curves: dict[Path, dict[str, Any]] = {}
    samples: dict[str, dict[str, Any]] = {}
    for name_of_run, cell in first_cells(view).items():
        row, run = view.row_head(cell.row), run_folder(name_of_run)
        for trained in trained_runs(run) if len(curves) < PICTURES else ():
            if trained not in curves and (curve := learning_curve(trained)):
                name, points = curve
                label = row if trained == run else f"{row}: {trained.name.rsplit('-', 1)[0]}"
                curves[trained] = {
                    "row": f"{label} ({view.column_head(cell.column)})", "name": name,
                    "points": json.dumps([[x, short(y)] for x, y in points]),
                    "first": f"{points[0][1]:.3g}",
                    "last": f"{points[-1][1]:.3g}", "steps": f"{points[-1][0]:.0f}",
                }  # fmt: skip
        path = samples_picture(run) if row not in samples and len(samples) < PICTURES else None
        if path and (data := embedded(path)):
            label = f"{row} ({view.column_head(cell.column)})"
            samples[row] = {"row": label, "data": data}
    return {"curves": list(curves.values()), "samples": list(samples.values())}
