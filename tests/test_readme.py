"""The README does what it says: every example and every command of it runs, at smoke scale."""

import re
import shlex
import shutil
import subprocess
import sys

import pytest
import torch

from jumpbench.cli.main import main
from jumpbench.paths import checkout

ROOT = checkout()
pytestmark = pytest.mark.skipif(ROOT is None, reason="needs the README of a checkout")
README = (ROOT / "README.md").read_text() if ROOT else ""


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands():
    lines = [line for block in blocks("bash") for line in block.splitlines()]
    split = (shlex.split(line, comments=True) for line in lines)
    # where results go is the test's own business
    return [
        [w for w in words if not w.startswith("JUMPBENCH_OUTPUTS=")] for words in split if words
    ]


def example(*names):
    """The examples that hold these names, one after the other."""
    return [next(b for b in blocks("python") if name in b) for name in names]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with the files that the README shows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("own", "mine"):  # of another test's folder
        monkeypatch.delitem(sys.modules, name, raising=False)
    for block in (*blocks("python"), *blocks("yaml")):
        if named := re.match(r"# (\S+\.(py|yaml))\n", block):
            path = tmp_path / named[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block)
    return tmp_path


def test_every_example_is_run_by_a_test():
    """Those below, and the posterior one in tests/methods/sgdd."""
    assert len(blocks("python")) == 6 and len(blocks("yaml")) == 1
    assert all(len(block.splitlines()) <= 25 for block in blocks("python"))


def test_a_target_with_truth_and_an_evaluation_of_ones_own(folder, capsys):
    """Ring of 8 sites: distances near their floors, walls within 5 standard errors (4096
    samples of at most 8 walls, autocorrelated by at most 4)."""
    torch.manual_seed(0)
    scope = {}
    target, evaluation = example("target = Ring(", "class Walls(")
    exec(compile(target, "README.md", "exec"), scope)
    results = scope["method"].results
    assert results["energy_tv"] < 0.05 and results["energy_evaluations"] > 0
    assert any(name.endswith("_floor") for name in results)
    exec(compile(evaluation, "README.md", "exec"), scope)
    law, walls, results = scope["law"], scope["walls"], scope["method"].results
    exact, spread = law.mean(walls(law.states)), law.std(walls(law.states))
    assert results["walls_error"] == pytest.approx(abs(results["walls"] - exact))
    assert results["walls_error"] < 5 * spread * (4 / 4096) ** 0.5
    independent = 8 * 2 / 3  # what uniform states would give is far away
    assert abs(independent - exact) > 1


@pytest.mark.slow
def test_a_sampler_of_ones_own_is_a_row_and_its_run_comes_back(folder, monkeypatch, capsys):
    """Best of 8 draws from the prior, of 20 steps and one free denoising draw each."""
    (command,) = [words for words in commands() if words[0].startswith("JUMPBENCH_REPRODUCE")]
    variable, value = command[0].split("=")
    monkeypatch.setenv(variable, value)
    rest = [*command[2:], "scale=smoke", "columns=D=2", "trainer.accelerator=cpu"]
    assert command[1] == "jumpbench" and main(rest) == 0
    shown = capsys.readouterr().out
    assert "Table 2 with a row of mine" in shown and "Best of 8 *" in shown
    import jumpbench

    rows = jumpbench.load_table("mine/table2", "smoke")
    of = {(r["row"], r["metric"]): r["value"] for r in rows if r["value"] is not None}
    assert of["Best of 8", "counted_evaluations"] == 8 * 20
    assert of["Best of 8", "prior_hellinger"] > 0.1
    assert len([r for r in rows if r["value"] is not None]) == 8  # two rows of four metrics
    (back,) = example("load_run")
    back = back.replace('"sgdd/table2", "small"', '"mine/table2", "smoke"')
    scope = {}
    exec(compile(back, "README.md", "exec"), scope)
    assert scope["run"].metrics["hellinger"] == of["SGDD", "hellinger"]
    assert len(scope["run"].artifacts["samples"]) == 200


def test_the_two_commands_run_from_their_scripts(folder, monkeypatch):
    """With an environment that is there already: this one, behind the names that they call."""
    venv = folder / "venv"
    (venv / "bin").mkdir(parents=True)
    for name, call in (("jumpbench", "-m jumpbench"), ("python", "")):
        (venv / "bin" / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {call} "$@"\n')
        (venv / "bin" / name).chmod(0o755)
    stamp = "cksum <pyproject.toml | tr -c '0-9\\n' -"
    found = subprocess.run(["bash", "-c", stamp], cwd=ROOT, capture_output=True, text=True)
    for extras in ("", "test,docs"):
        (venv / f".jumpbench-{found.stdout.strip()}-{extras}").touch()
    monkeypatch.setenv("JUMPBENCH_VENV", str(venv))
    table, tests = commands()[:2]

    def called(words, *more):
        script = str(ROOT / words[0])
        done = subprocess.run([script, *words[1:], *more], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    part = ("scale=smoke", "rows=SGDD", "columns=D=2", "trainer.accelerator=cpu")
    assert "SGDD" in called(table, *part)
    assert called(tests, "--version").startswith("pytest")


# What makes a command short; every command must be one of these, or be run above.
SHORT = ["scale=smoke", "trainer.accelerator=cpu"]
LESS = {
    "sgdd/table2": ["columns=D=2"],
    "symmetric_diffusers/figure*": [],
    "dasbs/table2": ["columns=beta_high=0.28", "method.chains_per_batch=64"],
}


def needs_a_cluster(words):
    """Those of tests/tables/test_ray.py and test_slurm.py."""
    return words[0] == "pip" or any(word.startswith("launcher=") for word in words)


@pytest.mark.slow
def test_every_other_command_runs(folder, capsys, monkeypatch):
    monkeypatch.delenv("JUMPBENCH_DATA", raising=False)
    run, seen = [], 0
    here = [words for words in commands() if not needs_a_cluster(words)]
    for words in here:
        if words[0].endswith("run_tests.sh") or words[0].startswith("JUMPBENCH_REPRODUCE"):
            continue  # above
        short = words[0].endswith("run_table.sh")
        assert short or words[0] == "jumpbench"
        run.append(["table", *words[1:]] if short else words[1:])
    for command in run:
        name, more = command[0], []
        if name in ("table", "status", "plan"):
            given = {word.split("=")[0] for word in command}
            less = LESS[command[1]]
            if "logger" in given:  # what is finished is not mirrored again
                less = ["columns=D=5"]
            more = [w for w in (*SHORT, *less) if w.split("=")[0] not in given - {"scale"}]
            command = [word for word in command if not word.startswith(("scale=", "seeds="))]
            if "rows" not in given and command[1] == "sgdd/table2":
                more.append("rows=SGDD")
        if name in ("run", "sweep"):
            command = [word.replace("=600", "=2") for word in command]
            more = ["trainer.accelerator=cpu"]
        status = main([*command, *more])
        shown = capsys.readouterr()
        assert "Traceback" not in shown.err and status != 2, (command, shown.err)
        # what is not finished, or lacks its data, is told by the status
        assert status == 0 or name in ("status", "data"), (command, shown.out + shown.err)
        seen += 1
    assert seen == len(here) - 2 and seen >= 13
    assert list(folder.glob("**/wandb/offline-run-*")), "no mirror was written"


def test_links_and_files_of_the_readme_are_there():
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / link).exists(), link
    assert shutil.which("bash")
