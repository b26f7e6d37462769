"""Kill a run at every point of its life, make it again, and compare all that it measured.

A child process is forked, with torch loaded, and leaves with ``os._exit`` at the point; another
child makes the run to its end. Nothing of the first survives but its folder.

``python tests/tables/interruptions.py [TABLE ROW COLUMN ...]`` interrupts rows of smoke scales.
"""

import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from lightning.pytorch.callbacks import Checkpoint

from jumpbench.tables.attempt import Job, Outcome, attempt
from jumpbench.tables.execute import _RunJob
from jumpbench.tables.grid import Selection, build
from jumpbench.tables.plan import Run
from jumpbench.tables.spec import load

STOPPED = 77
# What tells no more than how long something took, or where.
MEASURED = ("seconds", "memory", "hours", "runtime")

# Every class that is trained, one row each: table, row, column, overrides.
TRAINED = {
    "DASBS": ("dasbs/table2", "DASBS", "beta_low=0.6", []),
    "UDNS warm": ("dasbs/table2", "UDNS", "beta_low=0.6", []),
    "LEAPS warm": ("dasbs/table2", "LEAPS", "beta_low=0.6", []),
    "MDNS warm": ("dasbs/table2", "MDNS", "beta_low=0.6", []),
    "DASBS probes": ("dasbs/exact", "DASBS*", None, []),
    "SymmetricDiffuser": ("symmetric_diffusers/table2", "SymmetricDiffusers*", None, []),
    "DiffSort": ("symmetric_diffusers/table2", "DiffSort", None, ["trainer.val_check_interval=2"]),
    "error-free DiffSort": ("symmetric_diffusers/table2", "Error-free*", None, []),
    "Gumbel-Sinkhorn": ("symmetric_diffusers/table1", "Gumbel*", None, []),
    "SEDD": ("symmetric_diffusers/table5", "SEDD", None, []),
    "Blackout": ("blackout/exact", "Instantaneous loss, nearest", None, []),
    "DNFS": ("dnfs/exact", "DNFS", None, []),
    "DRAKES": ("sgdd/table3", "DRAKES w/ KL", "Cost", ["trainer.max_steps=5"]),
    "tours": ("symmetric_diffusers/table4", "SymmetricDiffusers*", None, []),
}


@dataclass(frozen=True)
class Point:
    """Where a run dies: the ``nth`` time that Lightning calls ``hook``, or ``finish``."""

    hook: str
    nth: int


HOOKS = (
    "on_train_batch_start", "on_train_batch_end", "on_validation_start", "on_validation_end",
    "on_train_end", "on_test_start", "on_test_batch_end",
)  # fmt: skip


class Killer(Checkpoint):
    """Counts hooks; at its point it ends the process. (A ``Checkpoint`` comes last.)"""

    def __init__(self, point: Point | None) -> None:
        self.point, self.counts = point, dict.fromkeys(HOOKS, 0)

    def _passed(self, hook: str) -> None:
        self.counts[hook] += 1
        if self.point == Point(hook, self.counts[hook]):
            os._exit(STOPPED)


for _hook in HOOKS:
    setattr(Killer, _hook, lambda self, *_, hook=_hook: self._passed(hook))


def smoke_run(table: str, row: str, column: str | None, overrides: list[str]) -> Run:
    """The first run with a training of a row, at the smoke scale, with a checkpoint in 3 steps."""
    selection = Selection("smoke", "1", row, column, (*overrides, "checkpoint_every=3"))
    runs = [run for cell in build(load(table), selection) if cell.asked for run in cell.runs]
    return next(run for run in runs if "fit" in run.config["stages"])


def forked(work: Callable[[], int]) -> int:
    """Exit status of ``work`` in a child."""
    if (child := os.fork()) == 0:
        status = 1
        try:
            status = work()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def make(run: Run, point: Point | None, counts: Path | None = None) -> int:
    """Make a run in a child that dies at ``point``; its counts of hooks are left in a file."""

    def work() -> int:
        torch.set_num_threads(1)
        build_job, finish = _RunJob.build, _RunJob.finish
        killer = Killer(point)

        def with_killer(self, interrupts):
            build_job(self, interrupts)
            self.trainer.callbacks.append(killer)

        def killed_finish(self, started):
            if point == Point("finish", 1):
                os._exit(STOPPED)
            finish(self, started)

        _RunJob.build, _RunJob.finish = with_killer, killed_finish
        ended = attempt(Job(run.folder, run.placed()))
        if counts is not None:
            counts.write_text(json.dumps(killer.counts))
        if ended.outcome is not Outcome.FINISHED:
            print(run.id, ended.message, file=sys.stderr)
        return 0 if ended.outcome is Outcome.FINISHED else 1

    return forked(work)


def measured(folder: Path) -> tuple[dict, dict]:
    """All numbers of a run that are its own, and the artifacts of its samples."""
    values = json.loads((folder / "metrics.json").read_text())["metrics"]
    numbers = {k: v for k, v in values.items() if not any(word in k for word in MEASURED)}
    artifacts = folder / "samples.pt"
    found = torch.load(artifacts, weights_only=True) if artifacts.exists() else {}
    return numbers, {k: v for k, v in found.items() if isinstance(v, torch.Tensor)}


def points(run: Run, counts: dict[str, int]) -> Iterator[Point]:
    for hook in HOOKS:
        yield from (Point(hook, n + 1) for n in range(counts[hook]))
    yield Point("finish", 1)


def interrupt_everywhere(run: Run, every: int = 1) -> tuple[int, list[str]]:
    """Number of points tried, and those after which the run measured something else."""
    for need in list(run.with_needs())[:-1]:
        assert make(need, None) == 0, need.id
    shutil.rmtree(run.folder, ignore_errors=True)
    counts = run.folder.parent / f"{run.hash}.counts"
    assert make(run, None, counts) == 0, run.id
    expected, samples = measured(run.folder)
    tried, different = 0, []
    for point in list(points(run, json.loads(counts.read_text())))[::every]:
        shutil.rmtree(run.folder)
        assert make(run, point) == STOPPED, f"{run.id} did not reach {point}"
        assert not (run.folder / "metrics.json").exists()
        assert make(run, None) == 0, f"{run.id} after {point}"
        found, drawn = measured(run.folder)
        tried += 1
        same = found == expected and drawn.keys() == samples.keys()
        same = same and all(torch.equal(drawn[k], v) for k, v in samples.items())
        said = "same" if same else "DIFFERENT"
        print(f"  {run.name}, {point.hook} {point.nth}: {said}", flush=True)
        if not same:
            changed = {k: (v, found.get(k)) for k, v in expected.items() if found.get(k) != v}
            different.append(f"{run.name}: {point}: {changed}")
    return tried, different


def main(arguments: list[str]) -> int:
    chosen = {name: TRAINED[name] for name in arguments} if arguments else TRAINED
    total, wrong = 0, []
    for name, place in chosen.items():
        tried, different = interrupt_everywhere(smoke_run(*place))
        total, wrong = total + tried, wrong + different
        print(f"{name}: {tried} points, {len(different)} different", flush=True)
    print(f"{total} points, {len(wrong)} different", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
