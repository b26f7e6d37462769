"""The quick tests have every oracle, and CI leaves out the long tests alone."""

import pytest

from documented import ROOT

CI = ROOT / ".ci" / "run"

ORACLES = (
    "data", "errata", "evaluations", "facts", "methods", "metrics", "networks", "ops", "parity",
    "processes", "samplers", "solvers", "targets",
)  # fmt: skip
NO_ORACLES = {"test_compiled_on_a_gpu.py"}  # whether a compiler takes the networks


def test_no_oracle_is_slow():
    files = [file for room in ORACLES for file in (ROOT / "tests" / room).rglob("test_*.py")]
    assert len(files) > 150
    slow = {file.name for file in files if "pytest.mark.slow" in file.read_text()}
    assert slow == NO_ORACLES


@pytest.mark.skipif(not CI.exists(), reason="an archive of the sources has no CI")
def test_ci_runs_the_slow_ones_too():
    assert "reproduce/run_tests.sh all" in CI.read_text()
    script = (ROOT / "reproduce" / "run_tests.sh").read_text()
    assert 'all) chosen="not long"' in script and '"") chosen="not slow and not long"' in script
