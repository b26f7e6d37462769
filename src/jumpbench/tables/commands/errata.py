"""The page of errors in print: of every paper the entries of ``docs/errata/PAPER.yaml``."""

from pathlib import Path

import yaml

from jumpbench.errors import UserError
from jumpbench.paths import reproduce_dir
from jumpbench.tables.views.render import as_markdown

PAGE = Path("docs") / "errata.md"
"""The page, beside the folder of the table files; its entries are in ``docs/errata``."""
KEYS = ("where", "printed", "right", "test")


def errata(slug: str) -> list[dict[str, str]]:
    """The errors of a paper: ``where`` something stands, what is ``printed`` and what is ``right``,
    and the ``test`` (a pytest name) that shows it.

    Raises:
        UserError: the file is no list of these four texts.
    """
    path = reproduce_dir().parent / PAGE.with_suffix("") / f"{slug}.yaml"
    if not path.is_file():
        return []
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise UserError(f"{path} is not YAML: {error}") from None
    for entry in entries if isinstance(entries, list) else [None]:
        texts = entry if isinstance(entry, dict) else {}
        if set(texts) != set(KEYS) or not all(isinstance(text, str) for text in texts.values()):
            raise UserError(f"{path}: every entry has the texts {', '.join(KEYS)}")
    return entries


def errata_page(names: dict[str, str]) -> str:
    """All errors, a table for each paper (folder -> its name)."""
    parts = []
    for slug, name in names.items():
        if entries := errata(slug):
            lines = [
                f"## {name}",
                "",
                "| where | in print | right | shown by |",
                "|---|---|---|---|",
            ]
            for entry in entries:
                file, _, test = entry["test"].partition("::")
                link = f"[`{test or Path(file).name}`](../{file})"
                texts = " | ".join(as_markdown(entry[key]) for key in KEYS[:3])
                lines.append(f"| {texts} | {link} |")
            parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)
