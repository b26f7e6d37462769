"""Puts the documentation's site together from pages that stand beside what they describe.

A page is a list of parts: a file, or one section of it (``FILE#Heading``), without its heading
where it stands alone. Links between files become links between pages.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]

PAGES = {
    "index.md": ("jumpbench", ["README.md#", "README.md#Tables", "README.md#Licence and citation"]),
    "guide/first-table.md": ("First table", ["README.md#Two commands"]),
    "guide/own-energy.md": (
        "Own energy",
        ["README.md#A target with ground truth", "reproduce/dasbs/README.md#Your own energy",
         "reproduce/dnfs/README.md#A target of one's own"],
    ),
    "guide/own-prior-and-reward.md": ("Own prior and reward", ["README.md#A reward"]),
    "guide/own-data.md": (
        "Own data",
        ["data/README.md#Your own data", "reproduce/blackout/README.md#Your own counts",
         "reproduce/symmetric_diffusers/README.md#Your own lists"],
    ),
    "guide/own-method.md": (
        "Own method as a row", ["README.md#A sampler as a row of a table"],
    ),
    "guide/own-evaluation.md": ("Own evaluation", ["README.md#An evaluation"]),
    "guide/own-table.md": ("Own table", ["reproduce/TABLES.md#A table that extends another"]),
    "guide/results-in-python.md": (
        "Results back in Python", ["README.md#Results back in Python"],
    ),
    "guide/how-numbers-are-judged.md": (
        "How numbers are judged",
        ["README.md#How numbers are made and checked", "reproduce/TABLES.md#How they are decided"],
    ),
    "guide/cluster.md": ("Cluster and several GPUs", ["README.md#Several devices and machines"]),
    "guide/datasets.md": ("Datasets", ["data/README.md#"]),
    "contributing.md": ("Contributing", ["CONTRIBUTING.md#", "CONTRIBUTING.md#*"]),
    "changes.md": ("Changes", ["CHANGELOG.md#", "CHANGELOG.md#*"]),
}  # fmt: skip
PACKAGES = ("processes", "samplers", "targets", "networks", "metrics", "solvers", "evaluations",
            "methods", "data")  # fmt: skip
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:)([^)\s]+)\)")
_ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):(<code>)~?")
_FENCE = re.compile(r"^```", re.MULTILINE)


def on_files(files: Files, config) -> Files:
    for uri, (title, parts) in PAGES.items():
        text = "\n\n".join(_part(part, len(parts) > 1, uri) for part in parts)
        files.append(File.generated(config, uri, content=f"# {title}\n\n{text}\n"))
    for name in PACKAGES:
        content = f"# {name.capitalize()}\n\n" + "\n\n".join(_modules(name)) + "\n"
        files.append(File.generated(config, f"reference/{name}.md", content=content))
    for slug in sorted(p.parent.name for p in (ROOT / "reproduce").glob("*/README.md")):
        if not (ROOT / "reproduce" / slug / "RESULTS.md").is_file():
            content = f"# Recorded results: {slug}\n\nNothing is recorded yet.\n"
            files.append(File.generated(config, f"{slug}/RESULTS.md", content=content))
    return files


def on_page_markdown(markdown: str, page, config, files) -> str:
    """Links of files that are pages themselves (those below ``reproduce/``)."""
    if page.file.src_uri in PAGES or page.file.src_uri.startswith("reference/"):
        return markdown
    return _linked(markdown, f"reproduce/{page.file.src_uri}", page.file.src_uri)


def on_page_content(html: str, page, config, files) -> str:
    """Roles of docstrings (``:class:`~a.b```) as what they name."""
    return _ROLE.sub(r"\1", html)


def _part(part: str, several: bool, uri: str) -> str:
    """A section, its own headings one level below the page's."""
    name, _, heading = part.partition("#")
    found = list(_sections((ROOT / name).read_text(encoding="utf-8")))
    if heading == "*":
        texts = [f"## {title}\n\n{text}" for _, title, text in found[1:]]
        return _linked("\n\n".join(texts), name, uri)
    if heading == "":
        own = found[0][2]
        rest = [f"## {t}\n\n{x}" for level, t, x in found[1:] if name.startswith("data/")]
        return _linked("\n\n".join([own, *rest]), name, uri)
    (at,) = [i for i, (_, title, _) in enumerate(found) if title == heading]
    level, title, text = found[at]
    below = []
    for deeper, inner, words in found[at + 1 :]:
        if deeper <= level:
            break
        below.append(f"{'#' * (deeper - level + 1 + several)} {inner}\n\n{words}")
    head = f"## {title}\n\n" if several else ""
    return _linked(head + "\n\n".join([text, *below]), name, uri)


def _sections(text: str) -> Iterator[tuple[int, str, str]]:
    """(level, heading, text up to the next heading); headings inside fenced code are none."""
    level, title, lines, fenced = 0, "", [], False
    for line in text.splitlines():
        fenced ^= bool(_FENCE.match(line))
        if not fenced and (heading := re.match(r"(#+) (.*)", line)):
            if title:
                yield level, title, "\n".join(lines).strip()
            level, title, lines = len(heading[1]), heading[2], []
        else:
            lines.append(line)
    yield level, title, "\n".join(lines).strip()


def _modules(package: str) -> Iterator[str]:
    """What mkdocstrings reads: every module of a package, the papers' packages whole."""
    folder = ROOT / "src" / "jumpbench" / package
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(ROOT / "src").with_suffix("").parts
        if path.stem != "__init__" and not any(part.startswith("_") for part in parts):
            yield f"::: {'.'.join(parts)}"


def _linked(text: str, source: str, uri: str) -> str:
    """The text of ``source`` with its links as the page ``uri`` has them.

    Links to files that are no page (table files, the licence) become their names.
    """
    pages = {parts[0].partition("#")[0]: page for page, (_, parts) in reversed(PAGES.items())}
    pages |= {"README.md": "index.md", "data/README.md": "guide/datasets.md"}

    def link(found: re.Match[str]) -> str:
        picture, words, target = found[1], found[2], found[3]
        path, hash_, anchor = target.partition("#")
        if not path:
            return found[0]
        whole = os.path.normpath(PurePosixPath(source).parent / path)
        page = pages.get(whole)
        shown = whole.endswith((".md", ".png")) and (ROOT / whole).is_file()
        if page is None and whole.startswith("reproduce/") and shown:
            page = whole.removeprefix("reproduce/")
        if page is None:
            return words if not picture else ""
        there = os.path.relpath(page, PurePosixPath(uri).parent)
        return f"{picture}[{words}]({there}{hash_}{anchor})"

    return _LINK.sub(link, text)
