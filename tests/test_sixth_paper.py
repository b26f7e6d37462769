"""docs/adding-a-paper.md is followed to the letter, in a copy of the repository.

The files are those that the page prints, the commands those that it names; what comes out is one
more paper: run, judged, recorded and listed. The checkout itself is left alone.
"""

import json
import os
import re
import shutil
import subprocess

import pytest

from documented import ADDED as PAGE
from documented import ROOT, environment, text_of

COPIED = ["conf", "docs", "reproduce", "src", "tests", "README.md", "pyproject.toml"]
FILE = re.compile(r"```\w+\n(?:# |<!-- )([\w/.]+\.(?:py|yaml|md))(?: -->)?\n(.*?)```", re.DOTALL)

pytestmark = pytest.mark.skipif(ROOT is None, reason="needs a checkout to copy")


@pytest.fixture
def copy(tmp_path):
    """The repository with one more paper; its environment is this one."""
    root = tmp_path / "jumpbench"
    root.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, root / name)
    for name, text in files().items():
        path = root / name
        assert not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    environment(root / ".venv")
    return root


def files():
    return dict(FILE.findall(text_of(PAGE)))


def test_a_paper_is_six_files_and_150_lines():
    written = files()
    assert len(written) == 6
    assert sum(len(text.splitlines()) for text in written.values()) <= 150
    assert {name.split("/")[0] for name in written} == {"src", "conf", "reproduce", "tests"}


def test_the_files_of_blackout_that_the_page_names_are_there():
    written = {name.split("/")[-1] for name in files()}
    for name in re.findall(r"`((?:src|conf|reproduce|tests|jumpbench)/[\w/.]+)`", text_of(PAGE)):
        place = ROOT / ("src" if name.startswith("jumpbench/") else "") / name
        assert "mean_field" in name or "PAPER" in name or place.exists(), name
    assert "table1.yaml" in written


def script():
    return "".join(re.findall(r"```bash\n(.*?)```", text_of(PAGE), re.DOTALL))


def followed(copy, commands):
    """Run commands of the page in the copy; the numbers of tests that passed."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("JUMPBENCH_")}
    own |= {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        ["bash", "-c", f"set -e\n{commands}"], cwd=copy, env=own, capture_output=True,
        text=True, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return [int(n) for n in re.findall(r"(\d+) passed", done.stdout)]


def table(copy, scale):
    file = copy / f"outputs/tables/mean_field/table1/{scale}/table.json"
    content = json.loads(file.read_text())
    cells = {(c["row"], c["column"], c["metric"]): c for c in content["cells"]}
    return cells, content["claims"][0]


def check_smoke(copy):
    smoke, claim = table(copy, "smoke")
    assert len(smoke) == 8 and {c["status"] for c in smoke.values()} == {"measured"}
    assert claim["holds"] is None


@pytest.mark.long
def test_the_page_adds_a_paper_that_runs(copy):
    """Of its commands the first and the third: the paper's own tests, and its smoke table."""
    tests, _, smoke, *_ = script().splitlines()
    assert len(followed(copy, f"{tests}\n{smoke}")) == 1
    check_smoke(copy)


@pytest.mark.long
def test_the_page_adds_a_paper(copy):
    before = {path: path.stat().st_mtime_ns for path in ROOT.rglob("*mean_field*")}
    passed = followed(copy, script())
    assert len(passed) == 2 and passed[1] >= 4
    check_smoke(copy)
    small, claim = table(copy, "small")
    for beta, published in ((0.1, 0.695), (0.2, 0.715)):
        cell = small["Mean field", f"beta={beta}", "bound"]
        assert cell["verdict"] == "match" and cell["measured"] == pytest.approx(
            published, abs=0.003
        )
    assert claim["holds"] is True
    results = copy / "reproduce/mean_field"
    assert "claims: 1 holds" in (results / "README.md").read_text()
    assert "Table 1: lower bounds" in (results / "RESULTS.md").read_text()
    assert "mean_field" in (copy / "README.md").read_text()
    assert "`mean_field/table1`" in (copy / "docs/tables.md").read_text()
    assert before == {path: path.stat().st_mtime_ns for path in ROOT.rglob("*mean_field*")}
