import pytest
import toys

from jumpbench.errors import UserError
from jumpbench.tables.spec import available, load, parse


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


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("title: Toy\n", "", "lacks 'title'"),
        ("title: Toy", "title: [", "line"),
        ("cost: A", "costs: A", "unknown key 'costs'"),
        ("{name: fair,", "{nam: fair,", "unknown key 'nam' in rows[0]"),
        ("name: biased", "name: fair", "row 'fair' is defined twice"),
        ("only: [small n]", "only: [tiny n]", "unknown column 'tiny n'"),
        ("fair: {small n: 0.5,", "unfair: {small n: 0.5,", "unknown row 'unfair'"),
        ("small n: 0.5, large n: 0.5", "smal n: 0.5", "unknown column 'smal n'"),
        ("  smoke: {note: one seed, seeds: 1}\n", "", "scale 'smoke' is missing"),
        ("paper: {seeds: 3}", "paper: {seeds: 3}\n  huge: {seeds: 9}", "unknown scale 'huge'"),
        ("experiment: toy/coin\n", "", "row 'fair' has no experiment"),
        ("rows:\n", "rows: none\nrowz:\n", "rows"),
        ("overrides: [method.bias=0.5]", "overrides: method.bias=0.5", "must be a list"),
        ("cost: A", "cost: A\nverdict: {sigma: 2}", "verdict"),
        ("{id: lowest,", "{id: lowest, scales: [tiny],", "unknown scale 'tiny'"),
    ],
)
def test_every_mistake_is_one_line_with_file_and_place(tmp_path, old, new, words):
    with pytest.raises(UserError) as caught:
        parse("toy/t", written(tmp_path, old, new))
    message = str(caught.value)
    assert words in message and str(tmp_path / "t.yaml") in message
    assert "\n" not in message


def test_binary_and_empty_files_are_malformed(tmp_path):
    for content in (b"\xff\xfe\x00", b"", b"- a\n- b\n", b"just text"):
        (tmp_path / "t.yaml").write_bytes(content)
        with pytest.raises(UserError):
            parse("toy/t", tmp_path / "t.yaml")


def test_unknown_tables_are_named_with_the_nearest_one(project):
    assert available() == ["toy/coins"]
    with pytest.raises(UserError, match="did you mean 'toy/coins'"):
        load("toy/coin")
