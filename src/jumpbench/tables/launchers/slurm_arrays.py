"""Which runs are queued together: arrays of equal resources, behind the jobs that they need."""

import functools
import re
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

from jumpbench.tables.launchers.pending import Failures
from jumpbench.tables.launchers.queue import job_of
from jumpbench.tables.planning.run import Run
from jumpbench.tables.runs.resources import Resources
from jumpbench.tables.runs.store import read_metrics


def groups(runs: Sequence[Run], failures: Failures) -> Iterator[list[Run]]:
    """Runs of equal resources and needs, each group behind those that it needs.

    The jobs of a group are queued before the next one is asked for.
    """
    depths: dict[str, int] = {}
    for run in runs:
        if not failures.reached(run):
            below = [depths[n.hash] for n in run.needs.values() if n.hash in depths]
            depths[run.hash] = 1 + max(below, default=-1)
    for depth in sorted(set(depths.values())):
        groups: dict[Any, list[Run]] = {}
        for run in runs:
            if depths.get(run.hash) == depth:
                key = (run.slug, Resources.of(run.config), tuple(jobs_needed(run)))
                groups.setdefault(key, []).append(run)
        yield from groups.values()


def jobs_needed(run: Run) -> list[str]:
    """Jobs of needed runs that have not finished."""
    needs = [need for need in run.needs.values() if read_metrics(need.folder) is None]
    return sorted(job for need in needs if (job := job_of(need.folder).get("id")))


def parts(runs: list[Run], most: int) -> Iterator[list[Run]]:
    for first in range(0, len(runs), most):
        yield runs[first : first + most]


@functools.cache
def largest_array() -> int:
    """How many jobs an array may have here."""
    answer = subprocess.run(["scontrol", "show", "config"], capture_output=True, text=True)
    limit = re.search(r"MaxArraySize\s*=\s*(\d+)", answer.stdout)
    return max(int(limit[1]) - 1, 1) if limit else 1000
