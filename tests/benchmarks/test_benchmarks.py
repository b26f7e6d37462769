"""Every benchmark still runs; how fast things are is not asserted."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(p.name for p in HERE.glob("bench_*.py")))
def test_a_benchmark_runs(name, tmp_path):
    output = tmp_path / "results.json"
    command = [sys.executable, str(HERE / name), "--output", str(output)]
    if name == "bench_dnfs.py":
        command.append("--small")
    variables = os.environ | {"JUMPBENCH_OUTPUTS": str(tmp_path / "outputs")}
    done = subprocess.run(command, capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(output.read_text())["results"]
