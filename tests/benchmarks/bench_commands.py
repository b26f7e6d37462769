"""How long the command line takes when there is nothing to compute, against starting Python alone.

    python tests/benchmarks/bench_commands.py [--table sgdd/table2] [--output results.json]

The last line is a whole table that is finished already: it is made first if it is not (scale
``smoke`` unless given), under ``JUMPBENCH_OUTPUTS``.
"""

import argparse
import subprocess
import sys

from common import compare, record


def command(*arguments: str):
    def run() -> None:
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", default="sgdd/table2")
    parser.add_argument("--scale", default="smoke")
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
        ("jumpbench list, against python", command(*suite, "list"), python),
        ("jumpbench status, against its imports", status, imports),
        (f"{given.table} {given.scale} with nothing to do, against its imports", table, imports),
    )
    results = [compare(name, ours, other, given.repeats) for name, ours, other in sides]
    if given.output:
        record(results, given.output)


if __name__ == "__main__":
    main()
