"""Hooks of mkdocs: pages that stand beside what they describe join those of docs/.

The README is the first page; each folder of reproduce/ is a paper. Links between files of the
repository become links between pages; a link to a file that is no page becomes its words.
"""

import os
import re
from pathlib import Path, PurePosixPath

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
OTHERS = {
    "README.md": "index.md", "data/README.md": "datasets.md", "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
}  # fmt: skip
_LINK = re.compile(
    r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)"
)
_ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):(<code>)~?")


def pages() -> dict[str, str]:
    """{file of the repository: page} of all pages and pictures outside docs/."""
    papers = sorted((ROOT / "reproduce").glob("*/README.md"))
    found = dict(OTHERS)
    for readme in papers:
        for path in (readme, *readme.parent.glob("RESULTS.md"), *readme.parent.rglob("*.png")):
            name = path.relative_to(ROOT / "reproduce").as_posix()
            found[f"reproduce/{name}"] = f"papers/{name.replace('README.md', 'index.md')}"
    return found


def on_config(config):
    """The papers in the navigation, each by the name in its heading."""
    section = []
    for readme in sorted((ROOT / "reproduce").glob("*/README.md")):
        name = re.match(r"# ([^:(\n]+)", readme.read_text(encoding="utf-8"))[1].strip()
        there = [f"papers/{readme.parent.name}/index.md"]
        if (readme.parent / "RESULTS.md").is_file():
            there.append(f"papers/{readme.parent.name}/RESULTS.md")
        section.append({name: there})
    places = [i for i, entry in enumerate(config.nav) if "Papers" in entry]
    config.nav[places[0]] = {"Papers": ["tables.md", "errata.md", *section]}
    return config


def on_files(files: Files, config) -> Files:
    for name, page in pages().items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page, config, files) -> str:
    """Links as they are between the pages of the site."""
    others = pages()
    names = {page: name for name, page in others.items()}
    source = names.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def link(found: re.Match[str]) -> str:
        picture, words, target, heading = found[1], found[2], found[3], found[4] or ""
        place = os.path.normpath(PurePosixPath(source).parent / target)
        there = others.get(place) or (
            place.removeprefix("docs/") if place.startswith("docs/") else None
        )
        if there is None and (ROOT / place).exists():
            return words  # the licence, a table file
        relative = os.path.relpath(there or place, PurePosixPath(page.file.src_uri).parent)
        return f"{picture}[{words}]({relative}{heading})"

    return _LINK.sub(link, markdown)


def on_page_content(html: str, page, config, files) -> str:
    """Roles of docstrings (``:class:`~a.b```) as what they name."""
    return _ROLE.sub(r"\1", html)
