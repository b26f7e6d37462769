"""How long the command line takes when there is nothing to compute, against starting Python alone.

    python tests/benchmarks/bench_commands.py [--table sgdd/table2] [--output results.json]

The last lines are the table itself: with nothing to do, and made from nothing, one seed of all its
rows and of the rows given by ``--rows`` (scale ``smoke`` unless given), in a folder of its own.
"""

import argparse
import os
import subprocess
import sys
import tempfile

from common import compare, record, seconds


def command(*arguments: str):
    def run() -> None:
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

    return run


def from_nothing(table: str, scale: str, rows: str) -> dict[str, object]:
    """Seconds of one call that has every run still to make, one seed."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["JUMPBENCH_OUTPUTS"] = folder
        arguments = ("table", table, f"scale={scale}", "seeds=1", f"rows={rows}")
        spent = seconds(command("-m", "jumpbench", *arguments))
    name = f"{table} {scale} from nothing, rows {rows}"
    print(f"{name}: {spent:.1f} s")
    return {"name": name, "ours_seconds": spent}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", default="sgdd/table2")
    parser.add_argument("--scale", default="smoke")
    parser.add_argument("--rows", default="SGDD*")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output")
    given = parser.parse_args()
    suite = ("-m", "jumpbench")
    table = command(*suite, "table", given.table, f"scale={given.scale}")
    table()
    status = command(*suite, "status", given.table, f"scale={given.scale}")
    python = command("-c", "pass")
    imports = command("-c", "import hydra, omegaconf, rich.table, filelock, yaml")
    sides = (
        ("jumpbench --help, against python", command(*suite, "--help"), python),
        (
            "import jumpbench.samplers, against torch",
            command("-c", "import jumpbench.samplers"),
            command("-c", "import torch"),
        ),
        ("jumpbench list, against python", command(*suite, "list"), python),
        ("jumpbench status, against its imports", status, imports),
        (f"{given.table} {given.scale} with nothing to do, against its imports", table, imports),
    )
    results = [compare(name, ours, other, given.repeats) for name, ours, other in sides]
    results += [from_nothing(given.table, given.scale, rows) for rows in (given.rows, "*")]
    if given.output:
        record(results, given.output)


if __name__ == "__main__":
    main()
