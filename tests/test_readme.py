"""The README: short, its numbers are recorded ones, its two scripts run. The example of the library
is run by tests/methods/sgdd/test_readme_snippet.py, every other command by tests/test_guide.py."""

import json
import re
import subprocess

import pytest

from documented import README, ROOT, blocks, commands, environment, text_of

pytestmark = pytest.mark.skipif(ROOT is None, reason="needs the README of a checkout")


def test_it_is_at_most_150_lines():
    assert len(text_of(README).splitlines()) <= 150


def test_every_paper_has_its_line():
    folders = {path.parent.name for path in (ROOT / "reproduce").glob("*/README.md")}
    papers = folders - {"leaderboard"}
    listed = re.findall(r"^\| \[[^\]]+\]\(reproduce/(\w+)/README.md\)", text_of(README), re.M)
    assert sorted(listed) == sorted(papers)


def test_the_printed_table_is_the_recorded_one():
    """Numbers, verdicts and the paper's numbers, cell by cell."""
    (shown,) = (block for block in blocks(README, "text") if "Hellinger" in block)
    record = json.loads((ROOT / "reproduce/sgdd/results/table2.small.json").read_text())
    cells = {(c["row"], c["column"], c["metric"]): c for c in record["cells"]}
    marks = {"match": "≈", "better": "▲", "worse": "▼"}
    places = [(metric, column) for metric in ("hellinger", "tv") for column in ("D=2", "D=10")]
    lines = [[part.strip() for part in line.split("│")] for line in shown.splitlines()]
    rows = [line for line in lines if len(line) == 3 and re.search(r"[▲≈▼]|paper", line[1])]
    for line, paper in zip(rows[::2], rows[1::2], strict=True):
        numbers = re.findall(r"\d\.\d+ [▲≈▼]", " ".join(line[1:]))
        printed = re.findall(r"paper \d\.\d+", " ".join(paper[1:]))
        wanted = [cells[line[0], column, metric] for metric, column in places]
        assert numbers == [f"{c['measured']:.3f} {marks[c['verdict']]}" for c in wanted]
        assert printed == [f"paper {c['paper']:.3f}" for c in wanted]
    assert len(rows) == 6


def test_the_first_example_draws_a_digit(capsys):
    example = blocks(README, "python")[0]
    assert "load_model" in example
    scope = {}
    exec(compile(example, README, "exec"), scope)
    assert scope["digits"].shape == (16, 1, 16, 16)
    printed = capsys.readouterr().out.rstrip("\n").split("\n")
    assert {len(line) for line in printed} == {16} and set("".join(printed)) == set(" #")


def test_the_cell_that_the_guide_explains_is_a_recorded_one():
    (cell,) = blocks("docs/reading-a-cell.md", "text")
    assert f" {cell.strip()} " in text_of("reproduce/sgdd/RESULTS.md")


def test_the_two_scripts_run(tmp_path, monkeypatch):
    """With an environment that is there already: this one, behind the names that they call."""
    venv = environment(tmp_path / "venv", "test,docs,notebooks")
    monkeypatch.setenv("JUMPBENCH_VENV", str(venv))
    monkeypatch.chdir(tmp_path)
    (table,) = commands(README)

    def called(*words):
        done = subprocess.run(
            [str(ROOT / words[0]), *words[1:]], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    words = [word for word in table if not word.startswith(("rows=", "columns="))]
    part = ("scale=smoke", "rows=SGDD", "columns=D=2", "trainer.accelerator=cpu")
    assert "SGDD" in called(*words, *part)
    assert "`reproduce/run_tests.sh`" in text_of(README)
    assert called("reproduce/run_tests.sh", "--version").startswith("pytest")
