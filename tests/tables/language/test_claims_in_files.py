"""What a table file may say of a claim, and what is said where it says something else."""

import pytest
import toys
import yaml

from jumpbench.errors import UserError
from jumpbench.tables.language.spec import parse


@pytest.mark.parametrize(
    ("scales", "words"),
    [
        ("[paper]", "must be a mapping"),
        ("{smoke: it runs}", "smoke: that scale decides no claim"),
        ("{medium: it is large}", "medium: it has no such scale"),
        ('{small: ""}', "scales.small"),
        ("{small: it compares}", ""),
    ],
)
def test_a_claim_says_why_a_scale_can_decide_it(tmp_path, scales, words):
    path = tmp_path / "t.yaml"
    path.write_text(toys.TABLE.replace("{id: lowest,", f"{{id: lowest, scales: {scales},"))
    if not words:
        assert parse("toy/t", path).claims[0].scales == {"small": "it compares"}
        return
    with pytest.raises(UserError) as caught:
        parse("toy/t", path)
    assert words in str(caught.value) and f"{path} line " in str(caught.value)


def test_a_table_without_the_papers_setting_names_the_scales_of_its_claims(tmp_path):
    path = tmp_path / "t.yaml"
    text = toys.TABLE.replace(", compare: true", "")
    path.write_text(text.replace("paper: {seeds: 3}", "paper: {compare: false, decides: false}"))
    with pytest.raises(
        UserError, match="'lowest': no scale can decide it; give one of them decides"
    ):
        parse("toy/t", path)


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ("{beste: {row: fair}}", "unknown key 'beste'"),
        ("{best: {}}", "lacks 'row'"),
        ("{best: {row: nobody}}", "there is no row 'nobody'"),
        ("{order: {rows: [fair, biased], metric: median}}", "there is no metric 'median'"),
        ("{trend: {rows: [fair], metric: mean, direction: sideways}}", "increasing"),
        ("{u_shaped: {rows: [fair], metric: mean}}", "'u_shaped' needs three columns"),
        ("{trend: }", "a check is one of"),
        ("{all: [{trend: }]}", "a check is one of"),
        ("{compare: {left: 1, op: '<', right: 2}}", "must be a mapping"),
        ("{compare: {left: {row: fair, column: small n, metric: mean}, op: '=', right: 2}}", "op"),
        ("{compare: {left: {row: fair, column: x, metric: mean}, op: '<', right: 2}}", "no cell"),
        ("{compare: {left: {row: fair, column: small n, metric: mean}, op: '<', right: 1, "
         "factor: 2}}", "can be negative"),
        ("{compare: {left: {row: fair, column: small n, metric: mean}, op: '<', right: "
         "{row: biased, column: x, metric: mean, printed: true}}}", "number biased / x / mean"),
        ("{compare: {left: {row: fair, column: small n, metric: mean, printed: true}, op: '<', "
         "right: 1}}", "the left one is ours"),
        ("{falls_behind: {row: fair, behind: biased}}", "lacks 'metric'"),
        ("[]", "must be a mapping"),
        ("{}", "a check is one of"),
    ],
)  # fmt: skip
def test_a_misspelled_check_names_file_and_line(tmp_path, check, words):
    path = tmp_path / "t.yaml"
    text = toys.TABLE.replace("check: {best: {row: fair}}", f"check: {check}")
    assert yaml.safe_load(text)
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        parse("toy/t", path)
    line = 1 + text[: text.index("id: lowest")].count("\n")
    assert words in str(caught.value) and f"{path} line {line}: " in str(caught.value)
    assert "\n" not in str(caught.value)
