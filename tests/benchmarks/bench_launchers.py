"""Runs a second where a run costs next to nothing: in one process, and as tasks of Ray.

    python tests/benchmarks/bench_launchers.py [--runs 200] [--output results.json]

The rate is that after the first fifth of the runs, when Ray's workers are warm.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import record

TESTS = Path(__file__).parents[1]
TABLE = """\
title: Load
about: Coins of many biases.
cost: A
figures: []
metrics:
  mean: {{label: mean, better: lower, digits: 2, seed_std: 0.02}}
experiment: toy/coin
rows:
{rows}
columns:
  - {{name: one, overrides: []}}
scales:
  smoke: {{note: one seed, seeds: 1}}
"""


def rate(folder: Path, runs: int, launcher: str) -> dict[str, object]:
    """Seconds of one call that makes them all, and the rate of the later ones."""
    rows = (f"  - {{name: row {i}, overrides: [method.bias={i / runs}]}}" for i in range(runs))
    (folder / "reproduce/toy/load.yaml").write_text(TABLE.format(rows="\n".join(rows)))
    outputs = folder / launcher
    paths = (TESTS.parent / "src", TESTS / "tables", TESTS, os.environ.get("PYTHONPATH", ""))
    environment = {
        "JUMPBENCH_CONF": str(folder / "conf"), "JUMPBENCH_REPRODUCE": str(folder / "reproduce"),
        "JUMPBENCH_OUTPUTS": str(outputs), "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }  # fmt: skip
    command = (sys.executable, "-m", "jumpbench", "table", "toy/load", "scale=smoke")
    start = time.monotonic()
    subprocess.run(
        (*command, f"launcher={launcher}"),
        check=True, capture_output=True, cwd=folder, env=os.environ | environment,
    )  # fmt: skip
    spent = time.monotonic() - start
    ends = sorted(p.stat().st_mtime for p in outputs.glob("runs/toy/*/metrics.json"))
    warm = ends[len(ends) // 5 :]
    found = {
        "name": f"{len(ends)} runs, launcher={launcher}", "ours_seconds": spent,
        "runs_per_second": (len(warm) - 1) / (warm[-1] - warm[0]),
    }  # fmt: skip
    print(f"{found['name']}: {spent:.1f} s, {found['runs_per_second']:.1f} runs a second warm")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--output")
    given = parser.parse_args()
    sys.path.insert(0, str(TESTS / "tables"))
    from toys import write_project

    with tempfile.TemporaryDirectory() as name:
        write_project(Path(name))
        results = [rate(Path(name), given.runs, "serial")]
        if importlib.util.find_spec("ray"):
            results.append(rate(Path(name), given.runs, "ray"))
        else:
            print("launcher=ray not measured: pip install -e '.[ray]'")
    if given.output:
        record(results, given.output)


if __name__ == "__main__":
    main()
