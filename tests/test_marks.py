"""The quick tests have every oracle, and CI leaves out the long tests alone."""

import subprocess

import pytest

from documented import ROOT, environment

CI = ROOT / ".ci" / "run"
SCRIPT = ROOT / "reproduce" / "run_tests.sh"
ORACLES = (
    "data", "errata", "evaluations", "facts", "methods", "metrics", "networks", "ops", "parity",
    "processes", "samplers", "solvers", "targets",
)  # fmt: skip
NO_ORACLES = {"test_compiled_on_a_gpu.py"}  # whether a compiler takes the networks
QUICK, ALL = "-m pytest -m not slow and not long ", "-m pytest -m not long "


def test_no_oracle_is_slow():
    files = [file for room in ORACLES for file in (ROOT / "tests" / room).rglob("test_*.py")]
    assert len(files) > 150
    slow = {file.name for file in files if "pytest.mark.slow" in file.read_text()}
    assert slow == NO_ORACLES


def test_a_relative_environment_is_found_from_another_folder(tmp_path, monkeypatch):
    """The script goes to the checkout before it calls Python."""
    venv = environment(tmp_path / "venv", "test,docs,notebooks")
    (venv / "bin" / "python").write_text('#!/bin/sh\necho "$*"\n')
    monkeypatch.setenv("JUMPBENCH_VENV", "venv")
    monkeypatch.setenv("PYTHON", "false")  # nothing is installed
    call = [SCRIPT, "-k", "x"]
    done = subprocess.run(call, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.stdout, done.stderr) == ("-m pytest -k x\n", "")


@pytest.mark.parametrize(
    ("call", "asked"),
    [
        ([SCRIPT], QUICK),
        ([SCRIPT, "all"], ALL),
        ([SCRIPT, "-k", "all"], "-m pytest -k all\n"),
        ([CI], ALL),
    ],
)
def test_what_a_call_runs(call, asked, tmp_path, monkeypatch):
    """By what the scripts call: a Python that says its arguments."""
    if not call[0].exists():
        pytest.skip("an archive of the sources has no CI")
    extras = "test,docs,notebooks"
    if asked == ALL:  # launches are tested by the packages that they need
        extras += ",ray,slurm,dashboard,tensorboard,solvers"
    venv = environment(tmp_path / "venv", extras)
    (venv / "bin" / "python").write_text('#!/bin/sh\necho "$*"\n')
    monkeypatch.setenv("JUMPBENCH_VENV", str(venv))
    monkeypatch.setenv("PYTHON", "false")  # nothing is installed where that is not complete
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(asked)
