"""The quick tests have every oracle, and CI leaves out the long tests alone."""

import ast
import subprocess

import pytest

from documented import ROOT, environment

CI = ROOT / ".ci" / "run"
SCRIPT = ROOT / "reproduce" / "run_tests.sh"
ORACLES = (
    "data", "errata", "evaluations", "facts", "methods", "metrics", "networks", "ops", "parity",
    "processes", "samplers", "solvers", "targets",
)  # fmt: skip
NO_ORACLES = {  # their files compare nothing with a formula, or these tests do not
    "test_begun_on_one_device_and_ended_on_two_no_bit_is_another",
    "test_compiling_agrees",
    "test_networks_are_the_same_when_compiled",
    "test_own_counts_are_learned",  # a README's example
    "test_the_real_tensors_are_the_recorded_ones",  # a checksum of 180 MB
}
COMPILERS = {"test_compiled.py", "test_compiled_on_a_gpu.py"}
QUICK, ALL = "-m pytest -m not slow and not long ", "-m pytest -m not long "


def test_no_oracle_is_slow():
    files = [file for room in ORACLES for file in (ROOT / "tests" / room).rglob("test_*.py")]
    assert len(files) > 150
    slow = {name for file in files if file.name not in COMPILERS for name in slow_tests(file)}
    assert slow == NO_ORACLES


def slow_tests(file):
    """Names of the functions that are marked slow; the file's, if all of it is."""
    text, found = file.read_text(), []
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            found += [file.name] * ("pytest.mark.slow" in ast.unparse(node.value))
        elif isinstance(node, ast.FunctionDef):
            found += [node.name] * ("pytest.mark.slow" in map(ast.unparse, node.decorator_list))
    assert text.count("pytest.mark.slow") == len(found), file
    return found


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
    venv = environment(tmp_path / "venv", "test,docs,notebooks")
    (venv / "bin" / "python").write_text('#!/bin/sh\necho "$*"\n')
    monkeypatch.setenv("JUMPBENCH_VENV", str(venv))
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(asked)
