"""The page of errors: every entry names a test that is there, and bad entries are refused."""

import ast
from pathlib import Path

import pytest

from jumpbench.errors import UserError
from jumpbench.tables.commands.errata import errata, errata_page
from jumpbench.tables.commands.pages import is_paper, names_of_papers, papers

ROOT = Path(__file__).parents[2]
ENTRIES = [(slug, entry) for slug in papers() for entry in errata(slug)]


@pytest.mark.parametrize(("slug", "entry"), ENTRIES, ids=[e["where"] for _, e in ENTRIES])
def test_every_error_is_shown_by_a_test(slug, entry):
    file, _, name = entry["test"].partition("::")
    tree = ast.parse((ROOT / file).read_text())
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_test_of_an_error_is_named():
    named = {entry["test"].partition("::")[2] for _, entry in ENTRIES}
    here = [file for file in Path(__file__).parent.glob("test_*.py") if file != Path(__file__)]
    written = {
        node.name
        for file in here
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    assert written and written <= named


def test_the_page_has_every_paper():
    names = {slug: name for slug, name in names_of_papers().items() if is_paper(slug)}
    assert {slug for slug, _ in ENTRIES} == set(names)
    page = errata_page(names_of_papers())
    assert all(f"## {name}\n" in page for name in names.values())
    assert page.count("(../tests/") == len(ENTRIES)


@pytest.mark.parametrize(
    "text", ["[]: [", "- {where: here}", "5", "- {where: 1, printed: a, right: b, test: c}"]
)
def test_bad_entries_are_refused(text, tmp_path, monkeypatch):
    monkeypatch.setenv("JUMPBENCH_REPRODUCE", str(tmp_path / "reproduce"))
    for folder in ("docs/errata", "reproduce"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "docs/errata/mine.yaml").write_text(text)
    with pytest.raises(UserError, match=r"mine\.yaml"):
        errata("mine")
