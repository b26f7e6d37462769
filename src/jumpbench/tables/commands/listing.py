"""``jumpbench list``: what tables there are, what they cost and need, and what is recorded."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from jumpbench.errors import UserError
from jumpbench.tables.commands.estimates import duration
from jumpbench.tables.commands.run_seconds import kept
from jumpbench.tables.language.scale import SCALES
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.views.console import console, print_json, words

COSTS = (
    "cost, smoke/small/medium/paper: A up to an hour on a CPU core, B hours on a core, C up to "
    "half an hour on a GPU, D more"
)


def print_list(as_json: bool = False, tables: Sequence[str] | None = None) -> None:
    """Every table, or those: what it shows, cost class per scale, data, what is recorded."""
    listed, broken = table_list(tables)
    if as_json:
        print_json({"tables": listed, "malformed": broken})
        return
    out = console()
    out.print(
        Text(
            f"{COSTS}; a record in brackets is of a part of the table; takes: its recorded "
            "runs one after the other, added seeds too (plan: those of your call)",
            style="dim",
        )
    )
    if out.width < TABULAR:
        _print_lines(out, listed)
    else:
        _print_tabular(out, listed)
    for line in broken:
        out.print(words(out, f"malformed: {line}", "red"), soft_wrap=True)


TABULAR = 110
"""Columns below which the list is lines: a table of five columns would break words there."""


def _print_lines(out: Console, listed: list[dict[str, Any]]) -> None:
    for entry in listed:
        out.print(words(out, entry["table"], "bold") + words(out, f"  {entry['title']}"))
        facts = [f"cost {entry['cost']}", f"data: {', '.join(entry['data']) or 'none'}"]
        facts += [f"recorded: {_records(entry)}"] if entry["recorded"] else []
        facts += [f"takes: {_times(entry)}"] if entry["seconds"] else []
        out.print(words(out, f"  {'; '.join(facts)}", "dim"))


def _print_tabular(out: Console, listed: list[dict[str, Any]]) -> None:
    table = RichTable(header_style="bold", pad_edge=False)
    for name in ("table", "what it shows", "cost", "takes", "data", "recorded"):
        table.add_column(name, overflow="fold", no_wrap=name == "table")
    for entry in listed:
        table.add_row(
            words(out, entry["table"]), words(out, entry["title"]), entry["cost"], _times(entry),
            ", ".join(entry["data"]) or "none", _records(entry) or words(out, "–"),
        )  # fmt: skip
    out.print(table)


def table_list(tables: Sequence[str] | None = None) -> tuple[list[dict[str, Any]], list[str]]:
    """(what there is to say about every table, or those, one line for every malformed file)."""
    listed, broken = [], []
    for table_id in available() if tables is None else tables:
        try:
            table = load(table_id)
        except UserError as error:
            broken.append(str(error))
            continue
        known = {scale: kept(table, scale) for scale in table.scales}
        listed.append(
            {
                "table": table_id, "title": table.title, "about": table.about,
                "scales": {name: scale.kind for name, scale in table.scales.items()},
                "cost": cost_of(table.cost), "data": list(table.data),
                "recorded": [s for s in known if known[s].recorded],
                "recorded_in_part": [s for s in known if known[s].recorded == "part"],
                "seconds": {s: k.seconds for s, k in known.items() if k.seconds},
            }
        )  # fmt: skip
    return listed, broken


def _records(entry: Mapping[str, Any]) -> str:
    part = entry["recorded_in_part"]
    return ", ".join(f"({scale})" if scale in part else scale for scale in entry["recorded"])


def _times(entry: Mapping[str, Any]) -> str:
    return ", ".join(f"{scale} {duration(s)}" for scale, s in entry["seconds"].items())


def cost_of(cost: object) -> str:
    """Cost class per scale (``A/A/-/C``), or the one class of all."""
    if isinstance(cost, dict):
        return "/".join(str(cost.get(scale, "-")) for scale in SCALES)
    return str(cost or "?")
