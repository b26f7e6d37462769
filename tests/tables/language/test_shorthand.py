"""Crossed columns and names with a ``*`` say the same as the names written out."""

from pathlib import Path

import pytest
import toys
import yaml

from jumpbench.errors import UserError
from jumpbench.tables.language.spec import lines_of, parse

COLUMNS = """\
columns:
  - {name: single, overrides: [method.n=7]}
  - cross:
    - - {name: small n, overrides: [method.n=10], vars: {size: 10}}
      - {name: large n, overrides: [method.n=90], vars: {size: 90}}
    - - {name: hot, overrides: [method.beta=1, method.a=1]}
      - {name: cold, overrides: [method.beta=2], vars: {cold: true}, metrics: [mean]}
"""


def table(tmp_path, columns=COLUMNS, **changes):
    """The toys' table with other columns, and nothing that names the old ones."""
    content = yaml.safe_load(toys.TABLE)
    for key in ("published", "claims", "figures", "columns"):
        content.pop(key, None)
    for row in content["rows"]:
        row.pop("only", None)
        row.pop("columns", None)
    content["scales"] = {"smoke": {}, "paper": {}}
    for key, value in changes.items():
        content[key] = value
    path = tmp_path / "t.yaml"
    path.write_text(columns + yaml.safe_dump(content, sort_keys=False))
    return path


def test_a_cross_is_every_choice_in_the_order_of_its_lists(project, tmp_path):
    columns = parse("toy/t", table(tmp_path)).columns
    assert [c.name for c in columns] == [
        "single", "small n, hot", "small n, cold", "large n, hot", "large n, cold",
    ]  # fmt: skip
    assert columns[1].overrides == ("method.n=10", "method.beta=1", "method.a=1")
    assert columns[4].overrides == ("method.n=90", "method.beta=2")
    assert columns[4].vars == {"size": 90, "cold": True} and columns[1].vars == {"size": 10}
    assert columns[4].metrics == ("mean",) and columns[1].metrics is None


def test_a_pattern_is_the_names_that_it_fits(project, tmp_path):
    rows = [
        {"name": "a", "only": ["*, hot"], "columns": {"*n, *": ["x=1"], "*, hot": ["y=2"]}},
        {"name": "a*", "only": ["single", "large*", "*hot"]},
    ]
    claim = {"best": {"row": "a", "among": ["a*"], "metric": "mean", "columns": ["*, hot"]}}
    scale = {"only_columns": ["*cold"], "rows": {"*": ["z=3"]}, "only_rows": ["*"]}
    path = table(
        tmp_path, rows=rows, scales={"paper": scale},
        claims=[{"id": "c", "text": "t", "check": {"all": [claim]}}],
        metrics={"mean": {"better": "higher"}},
    )  # fmt: skip
    read = parse("toy/t", path)
    first, second = read.rows
    hot = ("small n, hot", "large n, hot")
    assert first.only == hot
    assert first.columns == {
        "small n, hot": ("x=1", "y=2"), "large n, hot": ("x=1", "y=2"),
        "small n, cold": ("x=1",), "large n, cold": ("x=1",),
    }  # fmt: skip
    # each name once, where it is named first
    assert second.only == ("single", "large n, hot", "large n, cold", "small n, hot")
    paper = read.scales["paper"]
    assert paper.only_columns == ("small n, cold", "large n, cold")
    assert paper.rows == {"a": ("z=3",), "a*": ("z=3",)} and paper.only_rows == ("a", "a*")
    kind, at = next(read.claims[0].check.parts())
    assert kind == "best" and at.columns == hot
    assert at.among == ("a*",), "a name in full is no pattern"


def test_every_override_keeps_its_line(project, tmp_path):
    path = table(tmp_path, rows=[{"name": "a", "columns": {"*, hot": ["x=1"], "small*": ["y=2"]}}])
    where = {place: line for place, (_, line) in lines_of("toy/t", path).items()}
    text = path.read_text().splitlines()
    for i, column in enumerate(parse("toy/t", path).columns):
        for j, override in enumerate(column.overrides):
            assert override in text[where["columns", i, "overrides", j] - 1]
    for j, override in enumerate(("x=1", "y=2")):
        assert override in text[where["rows", 0, "columns", "small n, hot", j] - 1]
    assert "name: cold" in text[where["columns", 4] - 1], "where its last part is"


def test_an_extension_uses_patterns_over_both_files(project, tmp_path, monkeypatch):
    base = table(tmp_path)
    folder = tmp_path / "own" / "toy"
    folder.mkdir(parents=True)
    base.rename(folder / "base.yaml")
    (folder / "more.yaml").write_text(
        "extends: toy/base\ntitle: More\nrows:\n  - {name: mine, only: ['*hot', extra]}\n"
        "columns:\n  - {name: extra}\nscales: {smoke: {columns: {'ext*': [method.n=1]}}}\n"
    )
    monkeypatch.setenv("JUMPBENCH_REPRODUCE", str(tmp_path / "own"))
    more = parse("toy/more", folder / "more.yaml")
    assert more.rows[-1].only == ("small n, hot", "large n, hot", "extra")
    assert more.scales["smoke"].columns == {"extra": ("method.n=1",)}


MISTAKES = [
    ("- - {name: small n, ", "- - {nam: small n, ", "needs a 'name'"),
    ("vars: {size: 10}", "var: {size: 10}", "unknown key 'var' in a column to be crossed"),
    ("overrides: [method.n=10]", "overrides: method.n=10", "to be crossed must be a list"),
    ("overrides: [method.beta=2]", "overrides: [3]", "columns[2].overrides[1]"),
    ("  - cross:\n", "  - name: x\n    cross:\n", "'cross' stands alone"),
    ("    - - {name: hot, ", "    - []\n    - - {name: hot, ", "a list of lists of columns"),
    ("name: single", 'name: "small n, hot"', "column 'small n, hot' is defined twice"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), MISTAKES)
def test_a_mistake_is_told_with_its_line(project, tmp_path, old, new, said):
    assert COLUMNS.count(old) == 1
    path = table(tmp_path, COLUMNS.replace(old, new))
    with pytest.raises(UserError) as told:
        parse("toy/t", path)
    assert said in str(told.value) and " line " in str(told.value)
    number = int(str(told.value).split(" line ")[1].split(":")[0])
    changed = {i for i, line in enumerate(path.read_text().splitlines(), 1) if i < 9}
    assert number in changed


def test_a_pattern_that_fits_nothing_is_a_mistake(project, tmp_path):
    path = table(tmp_path, rows=[{"name": "a", "only": ["tiny*"]}])
    with pytest.raises(UserError, match=r"line \d+: no column fits 'tiny\*'"):
        parse("toy/t", path)


def test_no_name_of_the_suite_is_taken_for_a_pattern():
    for path in sorted(Path(toys.__file__).parents[2].glob("reproduce/*/*.yaml")):
        read = parse(f"{path.parent.name}/{path.stem}", path)
        names = [*(r.name for r in read.rows), *(c.name for c in read.columns)]
        assert not [name for name in names if "*" in name], path
