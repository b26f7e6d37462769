import dataclasses
import re
from pathlib import Path

import pytest
import toys
import yaml

from jumpbench.errors import UserError
from jumpbench.tables.language.checks import Check
from jumpbench.tables.language.metric import Metric
from jumpbench.tables.language.scale import SCALES, Scale
from jumpbench.tables.language.spec import available, load, parse
from jumpbench.tables.language.types import Claim, Column, Row, Table
from jumpbench.tables.planning.grid import build, unique_runs
from jumpbench.tables.planning.selection import Selection

REFERENCE = (Path(__file__).parents[3] / "docs/table-language.md").read_text()


def written(tmp_path, old="", new=""):
    path = tmp_path / "t.yaml"
    assert old in toys.TABLE
    path.write_text(toys.TABLE.replace(old, new, 1))
    return path


def test_a_table_file_is_read_whole(project):
    table = load("toy/coins")
    assert [row.name for row in table.rows] == ["fair", "biased", "walk", "elsewhere"]
    assert table.paper("biased", "large n", "mean") == (0.9, 0.01)
    assert table.paper("fair", "small n", "mean") == (0.5, None)
    assert table.paper("walk", "small n", "mean") == (None, None)
    # three rows of two columns, one row of one
    assert len(list(table.cells())) == 7


MISTAKES = [
    ("title: Toy\n", "", "lacks 'title'"),
    ("title: Toy", "title: [", "line"),
    ("title: Toy", "title: 3", "title: "),
    ("about: Coins of several biases.", "about: [1]", "about: "),
    ("cost: A", "costs: A", "unknown key 'costs'"),
    ("cost: A", "id: x", "unknown key 'id'"),
    ("cost: A", "cost: Z", "cost"),
    ("cost: A", "cost: A\ndata: [mnst]", "no dataset 'mnst'; did you mean 'mnist'?"),
    ("digits: 2", "digits: 2, source: 'tv@{n}'", "row 'fair' and column 'small n' have no 'n'"),
    ("digits: 2", "digits: 2, source: 'tv@{n'", "'tv@{n': expected '}'"),
    ("figures: []", "figures: [{name: f}]", "figure 'f' names no function: give _target_"),
    ("{name: fair,", "{nam: fair,", "unknown key 'nam' in rows[0]"),
    ("{name: fair,", "{name: fair, name: fair,", "'name' stands twice in rows[0]"),
    ("    fair: {small", "    biased: {small", "'biased' stands twice in published.mean"),
    ("name: biased", "name: fair", "row 'fair' is defined twice"),
    ("name: biased", 'name: "a\\eb"', "control characters"),
    ("only: [small n]", "only: [tiny n]", "unknown column 'tiny n'"),
    ("only: [small n]", "printed_as: fare", "unknown row 'fare'"),
    ("fair: {small n: 0.5,", "unfair: {small n: 0.5,", "unknown row 'unfair'"),
    ("small n: 0.5, large n: 0.5", "smal n: 0.5", "unknown column 'smal n'; did you mean"),
    ("small n: 0.5, large n: 0.5", "small n: [0.5]", "must be a number"),
    ("small n: 0.5, large n: 0.5", "small n: .nan", "must be a number"),
    ("value: 0.9, std: 0.01", "value: 0.9, sd: 0.01", "{value, std}"),
    ("paper: {seeds: 3}", "paper: {seeds: 3}\n  huge: {seeds: 9}", "huge"),
    ("seeds: 2, compare: true", "seeds: 2, compare: abc", "compare"),
    ("seeds: 2, compare: true", "seeds: three", "seeds"),
    ("seeds: 2, compare: true", "seeds: 0", "seeds"),
    ("seeds: 2, compare: true", "only_metrics: [median]", "unknown metric 'median'"),
    ("seeds: 2, compare: true", "heads: {rows: {fare: x}}", "unknown row 'fare'"),
    ("experiment: toy/coin\n", "", "row 'fair' has no experiment"),
    ("rows:\n", "rows: none\nrowz:\n", "rows"),
    ("overrides: [method.bias=0.5]", "overrides: method.bias=0.5", "must be a list"),
    ("overrides: [method.bias=0.5]", "overrides: [{a: 1}]", "overrides[0]"),
    ("vars: {n: 4000}", "vars: [1]", "vars"),
    ("vars: {n: 4000}", "vars: {n: [4000]}", "vars.n"),
    ("cost: A", "cost: A\nverdict: {sigma: 2}", "verdict"),
    ("{id: lowest,", "{id: lowest, scales: {tiny: it is},", "scales.tiny"),
    ("text: The fair coin is lowest.", "text: [1]", "text"),
    ("reason: no numbers", "reason: null", "needs a check"),
    ("better: lower", "better: lowest", "better"),
    ("better: lower", "better: Lower", "better"),
    ("digits: 2", 'digits: "2"', "digits"),
    ("digits: 2", "digits: -1", "digits"),
    ("seed_std: 0.02", "seed_std: x", "seed_std"),
    ("seed_std: 0.02", "seed_std: 0", "seed_std"),
    ("seed_std: 0.02", "seed_std: .nan", "seed_std"),
    ("seed_std: 0.02", "scale: 3", "unknown key 'scale'"),
    ("seed_std: 0.02", "bounds: [0]", "bounds"),
    ("figures: []", "figures: [{name: ../../../x}]", "figure name"),
    ("figures: []", "figures: [1]", "figures[0]"),
    ("cost: A", "cost: A\n3: 4", "must be text"),
    ("cost: A", "cost: A\noverrides: [++seed=7]", "++seed=7: leave it out; give seeds: in the"),
    ("overrides: [method.bias=0.5]", "overrides: [method.bias=0.5, seed=7]", "seed=7: leave it"),
    ("only: [small n]", "columns: {small n: [seed=7]}", "seed=7: leave it out"),
    ("overrides: [method.n_samples=4000]", "overrides: [seed=7]", "seed=7: leave it out"),
    ("seeds: 2, compare: true", "overrides: [seed=7]", "seed=7: leave it out"),
    ("seeds: 2, compare: true", "rows: {fair: [seed=7]}", "seed=7: leave it out"),
    ("seeds: 2, compare: true", "columns: {small n: [seed=7]}", "seed=7: leave it out"),
]


@pytest.mark.parametrize(("old", "new", "words"), MISTAKES)
def test_every_mistake_is_one_line_with_file_and_line(tmp_path, old, new, words):
    with pytest.raises(UserError) as caught:
        parse("toy/t", written(tmp_path, old, new))
    message = str(caught.value)
    assert words in message and str(tmp_path / "t.yaml") in message
    assert "\n" not in message
    if words != "line" and words != "lacks 'title'" and "has no experiment" not in words:
        text = toys.TABLE.replace(old, new, 1)
        first = 1 + toys.TABLE[: toys.TABLE.index(old)].count("\n")
        line = int(re.search(r"line (\d+)", message)[1])
        assert first <= line <= first + new.count("\n") + 1, text


def test_a_run_that_another_needs_may_have_a_seed_of_its_own(tmp_path):
    new = "overrides: ['needs.judge.overrides=[seed=1]']"
    table = parse("toy/t", written(tmp_path, "overrides: [method.bias=0.5]", new))
    assert table.rows[0].overrides == ("needs.judge.overrides=[seed=1]",)


def test_binary_and_empty_files_are_malformed(tmp_path):
    for content in (b"\xff\xfe\x00", b"", b"- a\n- b\n", b"just text", b"[" * 5000):
        (tmp_path / "t.yaml").write_bytes(content)
        with pytest.raises(UserError):
            parse("toy/t", tmp_path / "t.yaml")


def test_a_published_number_is_known_as_finely_as_it_is_printed(tmp_path):
    new = "fair: {small n: 0.50, large n: 12}"
    table = parse("toy/t", written(tmp_path, "fair: {small n: 0.5, large n: 0.5}", new))
    assert table.published_number("fair", "small n", "mean").rounding == 0.005
    assert table.published_number("fair", "large n", "mean").rounding == 0.5
    assert table.published_number("biased", "small n", "mean").rounding == pytest.approx(0.05)


def test_a_table_may_have_any_of_the_four_scales(tmp_path):
    new = "medium: {seeds: 3}\n  small:"
    table = parse("toy/t", written(tmp_path, "small:", new))
    assert tuple(table.scales) == ("smoke", "medium", "small", "paper")
    kinds = {name: scale.kind for name, scale in table.scales.items()}
    assert kinds == {"smoke": "smoke", "medium": "medium", "small": "paper setting",
                     "paper": "paper setting"}  # fmt: skip
    assert [name for name in SCALES if table.scales[name].judged] == ["small", "medium", "paper"]
    table = parse("toy/t", written(tmp_path, ", compare: true", ""))
    assert table.scales["small"].kind == "miniature" and not table.scales["small"].judged
    table = parse("toy/t", written(tmp_path, ", compare: true", ", decides: true"))
    assert table.scales["small"].kind == "own setting" and table.scales["small"].judged
    table = parse("toy/t", written(tmp_path, "  smoke: {note: one seed, seeds: 1}\n"))
    assert "smoke" not in table.scales


def test_unknown_tables_are_named_with_the_nearest_one(project):
    assert "toy/coins" in available()
    with pytest.raises(UserError, match="did you mean 'toy/coins'"):
        load("toy/coin")


def test_only_a_file_that_takes_the_place_of_the_suites_is_foreign(project, monkeypatch):
    assert not load("toy/coins").foreign
    from jumpbench.paths import suite_root

    text = (suite_root() / "reproduce/sgdd/table2.yaml").read_text()
    own = project / "reproduce/sgdd"
    own.mkdir()
    (own / "table2.yaml").write_text(text)
    assert not load("sgdd/table2").foreign
    (own / "table2.yaml").write_text(text.replace("0.149", "0.148"))
    assert load("sgdd/table2").foreign


def rows_of(heading):
    """{key: default as it is printed} of one table of keys of the reference."""
    text = REFERENCE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return dict(re.findall(r"^\| `(\w+)`[^|]* \| [^|]* \| ([^|]*) \|", text, re.MULTILINE))


@pytest.mark.parametrize("kind", [Table, Metric, Row, Column, Scale, Claim])
def test_the_reference_has_every_key_with_its_default(kind):
    printed = rows_of(f"Keys of a {kind.__name__.lower()}")
    internal = {Table: {"id", "file", "foreign"}, Metric: {"name"}, Scale: {"name"}}
    fields = {f.name: f for f in dataclasses.fields(kind)}
    assert set(printed) == set(fields) - internal.get(kind, set())
    for key, said in printed.items():
        default = fields[key].default
        factory = fields[key].default_factory
        needed = default is dataclasses.MISSING and factory is dataclasses.MISSING
        assert needed == (said == "needed"), key
        if isinstance(default, bool | int | float):
            assert float({"true": 1, "false": 0}.get(said, said)) == default, key


def test_the_reference_names_every_check():
    text = REFERENCE.split("## Checks\n", 1)[1].split("\n## ", 1)[0]
    assert set(re.findall(r"`(\w+)`", text)) >= {f.name for f in dataclasses.fields(Check)}


def test_the_examples_of_the_reference_are_read(tmp_path):
    whole, crossed, extension = re.findall(r"```yaml\n(.*?)```", REFERENCE, re.DOTALL)
    path = tmp_path / "t.yaml"
    path.write_text(whole)
    table = parse("mine/t", path)
    assert [row.name for row in table.rows] == ["DASBS", "LEAPS"]
    runs = {scale: len(unique_runs(build(table, Selection(scale)))) for scale in table.scales}
    assert runs == {"smoke": 6, "small": 3, "paper": 14}  # those of the ground truth too
    path.write_text(extension)
    added = parse("mine/t", path).rows[-1]
    assert added.ours and added.name == yaml.safe_load(extension)["rows"][0]["name"]
    content = yaml.safe_load(whole) | yaml.safe_load(crossed) | {"scales": {"paper": {}}}
    content["rows"][1]["columns"] = yaml.safe_load('{"beta=0.6, *": [+regime=dasbs/warm_start]}')
    path.write_text(yaml.safe_dump({k: v for k, v in content.items() if k != "published"}))
    read = parse("mine/t", path)
    assert [c.name for c in read.columns][0::3] == ["beta=0.28, 5 s", "beta=0.6, 80 s"]
    assert list(read.rows[1].columns) == ["beta=0.6, 5 s", "beta=0.6, 80 s"]
