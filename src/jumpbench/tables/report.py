"""``jumpbench report``: a page of all tables, recorded results, the tables of the READMEs."""

import html
import json
import re
import shlex
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.files import write_atomic
from jumpbench.paths import outputs_root, reproduce_dir
from jumpbench.tables.collect import Cell
from jumpbench.tables.engine import Reproduction
from jumpbench.tables.grid import Selection
from jumpbench.tables.overview import cost_of, recorded_file
from jumpbench.tables.render import to_markdown
from jumpbench.tables.spec import SCALES, Table, available, load
from jumpbench.tables.store import read_json

_MARKED = re.compile(r"(<!-- (\S+) -->\n).*?(<!-- /\2 -->)", re.DOTALL)


def page() -> Path:
    """Write ``outputs/report/index.html``, an index of every table made so far."""
    rows = []
    for table_id in available():
        for scale in SCALES:
            folder = outputs_root() / "tables" / table_id / scale
            if not (folder / "table.json").is_file():
                continue
            record = read_json(folder / "table.json", "make the table again")
            cells = record["cells"]
            measured = sum(cell["status"] == "measured" for cell in cells)
            asked = sum(cell["asked"] for cell in cells)
            verdicts = [cell["verdict"] for cell in cells]
            claims = [claim["holds"] for claim in record["claims"]]
            link = f"../tables/{table_id}/{scale}/table.html"
            rows.append(
                f"<tr><td><a href='{link}'>{html.escape(load(table_id).title)}</a></td>"
                f"<td>{table_id}</td><td>{scale}</td><td>{measured} of {asked}</td>"
                f"<td>{verdicts.count('match')} ≈, {verdicts.count('better')} ▲, "
                f"{verdicts.count('worse')} ▼</td>"
                f"<td>{claims.count(True)} hold, {claims.count(False)} do not, "
                f"{claims.count(None)} open</td></tr>"
            )
    if not rows:
        raise UserError("no table has been made yet; make one with: jumpbench table SLUG/TABLE")
    body = (
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>jumpbench</title><style>"
        "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}"
        "table{border-collapse:collapse}th,td{padding:.4rem .9rem;text-align:left;"
        "border-bottom:1px solid #e3e7ec}</style><h1>jumpbench: tables made here</h1><table>"
        "<tr><th>table</th><th>id</th><th>scale</th><th>cells</th><th>against the paper</th>"
        f"<th>claims</th></tr>{''.join(rows)}</table></html>"
    )
    path = outputs_root() / "report" / "index.html"
    write_atomic(path, body)
    return path


def record(table_id: str, selection: Selection) -> Path:
    """Write ``reproduce/SLUG/results/TABLE.SCALE.json`` from the runs that are finished.

    The whole table is collected anew and no run is made: cells that a call with ``rows`` or
    ``columns`` left out are recorded as not run. Its ``table.json`` is renewed too.

    Raises:
        UserError: a part of a table, or no finished run of it.
    """
    if selection.rows or selection.columns:
        raise UserError("a table is recorded whole; leave out rows= and columns=")
    job = Reproduction(load(table_id), selection)
    if all(cell.status != "measured" for cell in job.cells()):
        raise UserError(
            f"{table_id} has no finished run at scale {selection.scale}; make it first (with the "
            "same seeds= and overrides)"
        )
    path = recorded_file(table_id, selection.scale)
    content = job.write(figures=True)
    write_atomic(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return path


def readmes() -> list[Path]:
    """Renew what stands between markers in ``reproduce/*/README.md`` and the README.md above.

    With ``JUMPBENCH_REPRODUCE`` these are the files in and beside that folder, never the suite's.

    ``<!-- tables -->`` holds the list of tables, ``<!-- results -->`` all recorded results of the
    folder's paper, ``<!-- result:SLUG/TABLE.SCALE -->`` one of them.
    """
    changed = []
    tables = reproduce_dir()
    for path in (tables.parent / "README.md", *sorted(tables.glob("*/README.md"))):
        if not path.is_file():
            continue
        slug = path.parent.name
        old = path.read_text()

        def renew(found: re.Match[str], slug: str = slug) -> str:
            return f"{found[1]}{_content(found[2], slug)}{found[3]}"

        new = _MARKED.sub(renew, old)
        if new != old:
            write_atomic(path, new)
            changed.append(path)
    return changed


def _content(marker: str, slug: str) -> str:
    if marker == "tables":
        return _table_list()
    if marker == "results":
        ids = [table_id for table_id in available() if table_id.startswith(f"{slug}/")]
        texts = [
            _recorded(load(t), s) for t in ids for s in SCALES if recorded_file(t, s).is_file()
        ]
        return "\n".join(texts) or "Nothing is recorded yet.\n"
    if marker.startswith("result:"):
        table_id, scale = marker.removeprefix("result:").rsplit(".", 1)
        if not recorded_file(table_id, scale).is_file():
            return "Not recorded yet.\n"
        return _recorded(load(table_id), scale)
    raise UserError(f"unknown marker '<!-- {marker} -->' in a README")


def _recorded(table: Table, scale: str) -> str:
    record = read_json(recorded_file(table.id, scale), "record it again")
    known = set(Cell.__dataclass_fields__)
    cells = [Cell(**{k: v for k, v in cell.items() if k in known}) for cell in record["cells"]]
    where = record["provenance"]
    hardware = "; ".join(where["hardware"])
    tail = (
        f"Regenerate with `{_command(record)}`. "
        f"Measured on {hardware}; commit {', '.join(where['run_commits'])}.\n"
    )
    return to_markdown(table, scale, cells, record["claims"]) + "\n" + tail


def _command(record: dict[str, Any]) -> str:
    """What makes a recorded table again, from its record."""
    chosen = record["selection"]
    words = ["reproduce/run_table.sh", record["table"], f"scale={record['scale']}"]
    if "seeds" in chosen:
        words.append(f"seeds={chosen['seeds']}")
    return shlex.join([*words, *chosen.get("overrides", ())])


def _table_list() -> str:
    lines = ["| table | what it shows | cost | data | recorded |", "|---|---|---|---|---|"]
    for table_id in available():
        table = load(table_id)
        found = [s for s in SCALES if recorded_file(table_id, s).is_file()]
        recorded = ", ".join(f"{s} ({_summary(table_id, s)})" for s in found)
        lines.append(
            f"| `{table_id}` | {table.title} | {cost_of(table.cost)} | "
            f"{', '.join(table.data) or 'none'} | {recorded or '–'} |"
        )
    return "\n".join(lines) + "\n"


def _summary(table_id: str, scale: str) -> str:
    content: dict[str, Any] = read_json(recorded_file(table_id, scale), "record it again")
    asked = [cell for cell in content["cells"] if cell["asked"]]
    measured = sum(cell["status"] == "measured" for cell in asked)
    claims = [claim["holds"] for claim in content["claims"]]
    text = f"{measured} of {len(asked)} cells"
    if claims:
        names = {True: "hold", False: "fail", None: "open"}
        words = [f"{claims.count(k)} {v}" for k, v in names.items() if claims.count(k)]
        text += "; claims: " + ", ".join(words)
    return text
