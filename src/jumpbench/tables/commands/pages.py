"""What stands between the markers of the pages: lists and summaries of recorded tables."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from jumpbench.errors import UserError
from jumpbench.paths import reproduce_dir
from jumpbench.tables.commands.agreement import agreement
from jumpbench.tables.commands.listing import COSTS, cost_of
from jumpbench.tables.commands.recorded import read_record, recorded_scales
from jumpbench.tables.commands.recorded_views import recorded_view, summary
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.language.types import Table
from jumpbench.tables.views.claimwords import claim_in_print, state
from jumpbench.tables.views.render import as_markdown

RESULTS = "RESULTS.md"
LIST = Path("docs") / "tables.md"
FIGURE = r"Figures? ([^:]+):"
"""How a caption begins whose figure is in print."""
"""The page of all tables, beside the folder of the table files."""


def tables_of_the_pages(slug: str = "") -> list[str]:
    """Tables (of one paper) whose files lie where the pages do."""
    ids = [name for name in available() if (reproduce_dir() / f"{name}.yaml").is_file()]
    return [name for name in ids if not slug or name.startswith(f"{slug}/")]


def papers() -> list[str]:
    """The papers of these tables, by the names of their folders."""
    return sorted({name.split("/")[0] for name in tables_of_the_pages()})


def names_of_papers() -> dict[str, str]:
    """Folder of each paper -> its name."""
    return {slug: _introduced(slug)[0] for slug in papers()}


def anchor(table_id: str, scale: str) -> str:
    return f"{table_id.split('/')[1]}-{scale}"


def each_record(slug: str, write: Callable[[Table, str], str]) -> list[str]:
    return [
        write(load(name), s) for name in tables_of_the_pages(slug) for s in recorded_scales(name)
    ]


def summaries(slug: str) -> str:
    """A few lines for each recorded table, see :func:`_summary`."""
    recorded = {name: recorded_scales(name) for name in tables_of_the_pages(slug)}
    return "".join(_summary(load(name), scales) for name, scales in recorded.items() if scales)


def _summary(table: Table, scales: Sequence[str]) -> str:
    """Counts and links of its scales, the largest first, and claims that were judged: each
    verdict once, at the largest scale that has it."""
    views = {s: recorded_view(table, read_record(table.id, s)) for s in reversed(scales)}
    links = {s: f"({RESULTS}#{anchor(table.id, s)})" for s in views}
    largest, *smaller = views
    parts = [f"[{as_markdown(views[largest].title)}]{links[largest]}, {largest}"]
    parts += [f"[{s}]{links[s]}" for s in smaller]
    told = [f"{part}: {summary(view)}" for part, view in zip(parts, views.values(), strict=True)]
    verdicts: dict[tuple[str, bool], str] = {}
    for scale, view in views.items():
        where = "" if scale == largest else f", {scale}"
        for claim in (claim for claim in view.claims if claim["holds"] is not None):
            said = claim_in_print(claim)
            words = as_markdown(claim["text"] + (f" ({said})" if said else ""))
            line = f"  - **{state(claim)}**{where}: {words}\n"
            verdicts.setdefault((claim["id"], claim["holds"]), line)
    return f"- {'; '.join(told)}.\n{''.join(verdicts.values())}"


def table_list(folder: Path) -> str:
    """Every table with its records, by what a reader may take them for, for a page in a folder."""
    kinds = ("paper setting", "own setting", "medium", "miniature")
    lines = [
        "| table | what it shows | cost | data | " + " | ".join(kinds) + " |",
        "|---" * (4 + len(kinds)) + "|",
    ]
    for table_id in tables_of_the_pages():
        table = load(table_id)
        by_kind: dict[str, list[str]] = {}
        for scale in recorded_scales(table_id):
            view = recorded_view(table, read_record(table_id, scale))
            link = f"{_place(table.slug, RESULTS, folder)}#{anchor(table_id, scale)}"
            text = f"[{scale}]({link}): {summary(view)}"
            by_kind.setdefault(view.scale.kind, []).append(text)
        lines.append(
            f"| `{table_id}` | {as_markdown(table.title)} | {cost_of(table.cost)} | "
            f"{', '.join(table.data) or 'none'} | "
            + " | ".join("<br>".join(by_kind.get(kind, ["–"])) for kind in kinds)
            + " |"
        )
    return "\n".join(lines) + f"\n\n{COSTS[0].upper()}{COSTS[1:]}.\n"


def paper_list(folder: Path) -> str:
    """One line a paper: name and subject from its README, tables, and what the records say.

    A folder without a printed table is none; it gets a sentence below.
    """
    lines = ["| paper | what it does | tables and figures | where we agree, and where not |"]
    lines.append("|---" * 4 + "|")
    beside = []
    for slug in papers():
        name, subject = _introduced(slug)
        link = f"[{name}]({_place(slug, 'README.md', folder)})"
        if is_paper(slug):
            said = agreement(tables_of_the_pages(slug))
            lines.append(f"| {link} | {subject} | {_in_print(slug)} | {said} |")
        else:
            beside.append(f"\n{link} ({_in_print(slug)}): {subject}")
    return "\n".join([*lines, *beside]) + "\n"


def is_paper(slug: str) -> bool:
    """Whether some table of a folder is in print: the leaderboard's are not."""
    return any(load(name).in_print for name in tables_of_the_pages(slug))


def _place(slug: str, page: str, folder: Path) -> str:
    return Path(os.path.relpath(reproduce_dir() / slug / page, folder)).as_posix()


def _introduced(slug: str) -> tuple[str, str]:
    """Name and subject of a paper: its README's heading up to a colon, and its first paragraph.

    Raises:
        UserError: the page has none of them.
    """
    path = reproduce_dir() / slug / "README.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    heading = re.match(r"# ([^\n:(]+)[^\n]*\n\n([^#<|`\n][^\n]*(?:\n[^\n]+)*)", text)
    if heading is None:
        raise UserError(f"{path} must begin with '# NAME', an empty line and a sentence")
    return heading[1].strip(), " ".join(heading[2].split())


def _in_print(slug: str) -> str:
    """``Tables 1 to 3; Figures 1, 3, 5 to 13; 2 of our own``."""
    numbers: dict[str, set[tuple[int, str]]] = {}
    own = 0
    for table_id in tables_of_the_pages(slug):
        table = load(table_id)
        captions = (re.match(FIGURE, figure.get("caption", "")) for figure in table.figures or ())
        for caption in filter(None, captions):  # a figure that is drawn with a table
            numbers.setdefault("Figure", set()).update(_numbers(caption[1]))
        if (printed := table.in_print) is None:
            own += 1
        else:
            numbers.setdefault(f"{printed[1]}{printed[2]}", set()).update(_numbers(printed[3]))
    parts = [
        f"{_s(len(numbers[kind]), kind)} {_listed(numbers[kind])}"
        for kind in sorted(numbers, reverse=True)
    ]
    return "; ".join([*parts, *([f"{own} of our own"] if own else [])])


def _numbers(text: str) -> Iterator[tuple[int, str]]:
    """``1, 3 and 5 to 7``, ``2a`` as numbers, each with its letter."""
    for first, letter, last in re.findall(r"(\d+)([a-z]?)(?: to (\d+))?", text):
        yield from ((n, letter) for n in range(int(first), int(last or first) + 1))


def _listed(numbers: set[tuple[int, str]]) -> str:
    """Numbers in order; three or more that follow one another as ``5 to 7``."""
    runs: list[list[tuple[int, str]]] = []
    for n, letter in sorted(numbers):
        if runs and (n - 1, letter) == runs[-1][-1]:
            runs[-1].append((n, letter))
        else:
            runs.append([(n, letter)])
    words: list[str] = []
    for run in runs:
        names = [f"{n}{letter}" for n, letter in run]
        words += [f"{names[0]} to {names[-1]}"] if len(names) > 2 else names
    return ", ".join(words)


def _s(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"
