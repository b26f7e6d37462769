"""The guide does what it says: its links lead somewhere, its examples and its commands run."""

import re
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest
import torch

from documented import ADDED, GUIDE, README, ROOT, blocks, commands, files, text_of
from jumpbench.cli.main import main
from jumpbench.tables.launchers import options_of
from jumpbench.tables.planning import plan
from jumpbench.tables.price import kept as kept_prices

pytestmark = pytest.mark.skipif(ROOT is None, reason="needs the pages of a checkout")
PAGES = [README, *(page for page in GUIDE if page != ADDED)]
COMMANDS = [(page, words) for page in PAGES for words in commands(page)]
IDS = [" ".join(words) for _, words in COMMANDS]
OWN = "docs/own-energy.md", "docs/own-row.md"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with the files that the guide shows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.delenv("JUMPBENCH_DATA", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("own", "mine"):  # of another test's folder
        monkeypatch.delitem(sys.modules, name, raising=False)
    for page in PAGES:
        for name, text in files(page).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
    plan.forget()  # what another test's modules of these names are
    return tmp_path


@pytest.mark.parametrize("page", [README, "CONTRIBUTING.md", "data/README.md", *GUIDE])
def test_links_lead_to_files_and_headings(page):
    for path, heading in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", text_of(page)):
        there = (ROOT / page).parent / path if path else ROOT / page
        assert there.exists(), path
        if heading:
            text = there.read_text()
            titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", t).lower().replace(" ", "-") for t in titles}
            assert heading in anchors | set(re.findall(r'<a id="([^"]+)"', text)), heading


def words_for_main(words, monkeypatch):
    """A documented command without its script, and its variables set."""
    while re.fullmatch(r"[A-Z_]+=\S*", words[0]):
        monkeypatch.setenv(*words[0].split("=", 1))
        words = words[1:]
    if words[0] == "reproduce/run_table.sh":
        return ["table", *words[1:]]
    assert words[0] == "jumpbench", words
    return words[1:]


def makes_no_run(words):
    return words[0].endswith("pip")


@pytest.mark.parametrize(("page", "words"), COMMANDS, ids=IDS)
def test_a_documented_table_is_planned_as_it_is_written(page, words, folder, capsys, monkeypatch):
    """Tables, rows, columns, overrides and options of launchers exist."""
    if makes_no_run(words):
        assert words[0] == ".venv/bin/pip" and words[1:4] == ["install", "-c", "constraints.txt"]
        return
    given = words_for_main(words, monkeypatch)
    launcher = [word for word in given if word.startswith("launcher.")]
    name = next((w.removeprefix("launcher=") for w in given if w.startswith("launcher=")), None)
    if name is not None and find_spec({"ray": "ray", "slurm": "submitit"}[name]):
        module = import_module(f"jumpbench.tables.launchers.{name}")
        options_of(name, getattr(module, name.capitalize()), launcher)
    if given[0] == "table" and given[1] != "all":
        monkeypatch.setattr(kept_prices, "_counted", lambda run: (kept_prices.Price(), False))
        kept = [w for w in given[1:] if not w.startswith(("launcher", "fresh="))]
        assert main(["plan", *kept]) == 0
        assert re.search(r"\b[1-9]\d* runs?\b", capsys.readouterr().out)


def example(*names):
    """The examples of the guide that hold these words, one after the other."""
    found = [block for page in PAGES for block in blocks(page, "python")]
    return [next(block for block in found if name in block) for name in names]


def test_every_example_is_run_by_a_test():
    """Those below, the README's, and the posterior one, in tests/methods/sgdd."""
    assert sum(len(blocks(page, "python")) for page in PAGES) == 7
    assert sum(len(blocks(page, "yaml")) for page in PAGES if "language" not in page) == 2
    for page in PAGES:
        assert all(len(block.splitlines()) <= 25 for block in blocks(page, "python"))


def test_a_target_with_truth_and_an_evaluation_of_ones_own(folder, capsys):
    """Ring of 8 sites: distances near their floors, walls within 5 standard errors (4096
    samples of at most 8 walls, autocorrelated by at most 4)."""
    torch.manual_seed(0)
    scope = {}
    target, evaluation = example("target = Ring(", "class Walls(")
    exec(compile(target, OWN[0], "exec"), scope)
    results = scope["method"].results
    assert results["energy_tv"] < 0.05 and results["energy_evaluations"] > 0
    assert any(name.endswith("_floor") for name in results)
    exec(compile(evaluation, OWN[1], "exec"), scope)
    law, walls, results = scope["law"], scope["walls"], scope["method"].results
    exact, spread = law.mean(walls(law.states)), law.std(walls(law.states))
    assert results["walls_error"] == pytest.approx(abs(results["walls"] - exact))
    assert results["walls_error"] < 5 * spread * (4 / 4096) ** 0.5
    independent = 8 * 2 / 3  # what uniform states would give is far away
    assert abs(independent - exact) > 1


@pytest.mark.slow
def test_a_sampler_of_ones_own_is_a_row_and_its_run_comes_back(folder, monkeypatch, capsys):
    """Best of 8 draws from the prior, of 20 steps and one free denoising draw each."""
    (command,) = [words for _, words in COMMANDS if "mine/table2" in words]
    words = words_for_main(command, monkeypatch)
    assert main([*words, "scale=smoke", "columns=D=2", "trainer.accelerator=cpu"]) == 0
    shown = capsys.readouterr().out
    assert "Table 2 with a row of mine" in shown and "Best of 8 *" in shown
    import jumpbench

    rows = jumpbench.load_table("mine/table2", "smoke")
    of = {(r["row"], r["metric"]): r["value"] for r in rows if r["value"] is not None}
    assert of["Best of 8", "counted_evaluations"] == 8 * 20
    assert of["Best of 8", "prior_hellinger"] > 0.1
    assert len([r for r in rows if r["value"] is not None]) == 8  # two rows of four metrics
    (back,) = example("load_run")
    back = back.replace('"sgdd/table2", "smoke"', '"mine/table2", "smoke"')
    scope = {}
    exec(compile(back, "docs/results-in-python.md", "exec"), scope)
    assert scope["run"].metrics["hellinger"] == of["SGDD", "hellinger"]
    assert len(scope["run"].artifacts["samples"]) == 200


# What makes a command short: of its table, what is left of it.
SHORT = ["scale=smoke", "trainer.accelerator=cpu"]
LESS = {
    "sgdd/table2": ["rows=SGDD", "columns=D=2"],
    "symmetric_diffusers/figure*": [],
    "dasbs/table2": ["columns=beta_high=0.28"],
    "mine/exact": [],
}


@pytest.mark.long
def test_every_command_runs(folder, capsys, monkeypatch):
    """At smoke scale; those with a launcher are run by tests/tables/launchers."""
    seen = set()
    for _, words in COMMANDS:
        elsewhere = makes_no_run(words) or any(
            w.startswith(("launcher=", "within=")) for w in words
        )
        if elsewhere or "mine/table2" in words:
            continue
        command, more = words_for_main(words, monkeypatch), []
        name = command[0]
        if name in ("table", "status", "plan"):
            command = [w for w in command if not w.startswith(("scale=", "seeds="))]
            keys = {word.split("=")[0] for word in command}
            less = LESS[command[1]]
            if "logger" in keys:  # what is finished is not mirrored again
                less = ["columns=D=5"]
            more = [w for w in (*SHORT, *less) if w.split("=")[0] not in keys]
        if name in ("run", "sweep"):
            command = [word.replace("=600", "=2") for word in command]
            more = ["trainer.accelerator=cpu"]
        status = main([*command, *more])
        shown = capsys.readouterr()
        assert "Traceback" not in shown.err and status != 2, (command, shown.err)
        # what is not finished, or lacks its data, is told by the status
        assert status == 0 or name in ("status", "data"), (command, shown.out + shown.err)
        seen.add(name)
    assert seen >= {"table", "plan", "status", "list", "run", "sweep", "report", "data"}
    assert list(folder.glob("**/wandb/offline-run-*")), "no mirror was written"
