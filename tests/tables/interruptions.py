"""Kill a run at every point of its life, make it again, and compare all that it measured.

A child process is forked, with torch loaded, and leaves with ``os._exit`` at the point; another
child makes the run to its end. Nothing of the first survives but its folder.

``python tests/tables/interruptions.py [NAME ...]`` interrupts miniatures of trained classes.
"""

import gc
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import torch
from lightning.pytorch.callbacks import Checkpoint

from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.plan import Run, plan_run
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.runs import LAST_CHECKPOINT, parts
from jumpbench.tables.runs.attempt import attempt
from jumpbench.tables.runs.execute import _RunJob
from jumpbench.tables.runs.interrupts import Interrupts
from jumpbench.tables.runs.job import Job, Outcome

STOPPED = 77
# What tells no more than how long something took, or where.
MEASURED = ("seconds", "memory", "hours", "runtime")
SHORT = ("trainer.max_steps=7", "checkpoint_every=3")


@dataclass(frozen=True)
class Trained:
    """A training in miniature: a row of a table at smoke scale, or an experiment of its own.

    ``need`` is the class of a run that the row's needs, if it is that which is meant.
    """

    place: str
    row: str | None = None
    column: str | None = None
    overrides: tuple[str, ...] = ()
    need: str = ""

    def run(self, *overrides: str) -> Run:
        """Planned, with further overrides."""
        overrides = (*self.overrides, *overrides)
        if self.row is None:
            return plan_run(self.place, overrides)
        selection = Selection("smoke", "1", self.row, self.column, overrides)
        cells = [cell for cell in build(load(self.place), selection) if cell.asked]
        runs = [step for cell in cells for run in cell.runs for step in run.with_needs()]
        trained = [run for run in runs if "fit" in run.config["stages"]]
        kinds = [run.config["method"]["_target_"].split(".")[-1] for run in trained]
        return trained[kinds.index(self.need) if self.need else -1]


HOT, COLD = "beta_high=0.28", "beta_low=0.6"
VALIDATED = ("trainer.val_check_interval=2",)
STAGES = ("method.controller.steps=2", "method.corrector.steps=1")
PICTURES = ("data.generated=64", "data.side=16")
SORTING, PUZZLES = "symmetric_diffusers/table2", "symmetric_diffusers/table1"
IMAGES = ("images.size=16", "images.generated=40", "images.train_batch_size=4")
NINE = "nine values, T=10"

# Every class that is trained, and every state of its own that a checkpoint must hold.
TRAINED = {
    "DASBS": Trained("dasbs/table2", "DASBS", COLD, STAGES),
    "DASBS probes": Trained("dasbs/exact", "DASBS", "Ising 3x3, beta 0.28", STAGES),
    "UDNS warm": Trained("dasbs/table2", "UDNS", COLD),
    "LEAPS warm": Trained("dasbs/table2", "LEAPS", COLD),
    "MDNS warm": Trained("dasbs/table2", "MDNS", COLD),
    "SymmetricDiffuser": Trained(SORTING, "SymmetricDiffusers*"),
    "latent loss": Trained(PUZZLES, "SymmetricDiffusers (ours)", "Noisy MNIST 2x2"),
    "tours": Trained("symmetric_diffusers/table4", "SymmetricDiffusers*"),
    "DiffSort": Trained(SORTING, "DiffSort", None, VALIDATED),
    "error-free DiffSort": Trained(SORTING, "Error-free*", None, VALIDATED),
    "Gumbel-Sinkhorn": Trained(PUZZLES, "Gumbel*", "Noisy MNIST 2x2"),
    "SEDD": Trained("symmetric_diffusers/table5", "SEDD"),
    "score training": Trained(
        "sgdd/mnist_prior_small",
        overrides=(*PICTURES, "data.train_batch_size=8", "data.n_samples=4", "+method.steps=4"),
    ),
    "classification": Trained(
        "sgdd/mnist_classifier",
        overrides=(*PICTURES, "data.train_batch_size=8", "data.n_samples=64"),
    ),
    "regression": Trained("sgdd/table3", "DRAKES w/ KL", need="Regression"),
    "DRAKES": Trained("sgdd/table3", "DRAKES w/ KL"),
    "VQ autoencoder": Trained("sgdd/table8", "*", need="VqTraining"),
    "Blackout": Trained("blackout/exact", "Instantaneous loss, nearest", NINE),
    "Blackout images": Trained(
        "blackout/train", overrides=(*IMAGES, "network=small_unet", "grid.steps=20")
    ),
    "image classifier": Trained("blackout/classifier", overrides=(*IMAGES, "judge.nearest=10")),
    "DNFS": Trained(
        "dnfs/exact", "DNFS", "Ising 3x3", ("method.refresh_every=2", "method.probe_at=[0,3,4]")
    ),
    "LEAPS loss": Trained("dnfs/exact", "LEAPS loss", "Ising 3x3", ("method.refresh_every=2",)),
    "DNFS on graphs": Trained("dnfs/table1", "DNFS", None, ("method.refresh_every=2",)),
    "GFlowNet on graphs": Trained("dnfs/table1", "GFlowNet"),
    "EB-DNFS": Trained("dnfs/table2", "EB-DNFS", "8gaussians"),
    "energy discrepancy": Trained("dnfs/table2", "ED-Bern (here)", "8gaussians"),
    "PCD": Trained("dnfs/table2", "PCD (here)", "8gaussians"),
    "ratio matching": Trained("dnfs/table2", "ratio matching", "8gaussians"),
    "GFlowNet": Trained("dnfs/figure5", "GFlowNet", "Ising 10x10"),
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


def load_once(run: Run) -> None:
    """Import here what every child would import anew."""
    import_module("torch._dynamo")  # by every optimiser
    parts.build(run.folder, run.placed(), None, {}, Interrupts())


def make(run: Run, point: Point | None, counts: Path | None = None) -> int:
    """Make a run in a child that dies at ``point``; its counts of hooks are left in a file."""

    def work() -> int:
        torch.set_num_threads(1)
        build, finish = parts.build, _RunJob.finish
        killer = Killer(point)

        def with_killer(*arguments):
            built = build(*arguments)
            built.trainer.callbacks.append(killer)
            return built

        def killed_finish(self, started):
            if point == Point("finish", 1):
                os._exit(STOPPED)
            finish(self, started)

        parts.build, _RunJob.finish = with_killer, killed_finish
        ended = attempt(Job(run.folder, run.placed()))
        if counts is not None:
            counts.write_text(json.dumps(killer.counts))
        if ended.outcome is not Outcome.FINISHED:
            print(run.id, ended.message, file=sys.stderr)
        return 0 if ended.outcome is Outcome.FINISHED else 1

    return forked(work)


def measured(folder: Path) -> tuple[dict, dict]:
    """All numbers of a run that are its own, and the tensors of its samples and its weights."""
    values = json.loads((folder / "metrics.json").read_text())["metrics"]
    numbers = {k: v for k, v in values.items() if not any(word in k for word in MEASURED)}
    artifacts = folder / "samples.pt"
    found = torch.load(artifacts, weights_only=True) if artifacts.exists() else {}
    last = torch.load(folder / "checkpoints" / LAST_CHECKPOINT, weights_only=True)["state_dict"]
    found |= {f"weight {name}": value for name, value in last.items()}
    return numbers, {k: v for k, v in found.items() if isinstance(v, torch.Tensor)}


def points(counts: dict[str, int]) -> Iterator[Point]:
    for hook in HOOKS:
        yield from (Point(hook, n + 1) for n in range(counts[hook]))
    yield Point("finish", 1)


def interrupt_everywhere(run: Run, at: Sequence[Point] = ()) -> tuple[int, list[str]]:
    """Number of points tried, and those after which the run measured something else.

    Args:
        at: the points; by default all that there are.
    """
    for need in list(run.with_needs())[:-1]:
        assert make(need, None) == 0, need.id
    load_once(run)
    gc.freeze()  # a child's collection passes it over
    shutil.rmtree(run.folder, ignore_errors=True)
    counts = run.folder.parent / f"{run.hash}.counts"
    assert make(run, None, counts) == 0, run.id
    expected, samples = measured(run.folder)
    tried, different = 0, []
    for point in at or list(points(json.loads(counts.read_text()))):
        shutil.rmtree(run.folder)
        assert make(run, point) == STOPPED, f"{run.id} did not reach {point}"
        assert not (run.folder / "metrics.json").exists()
        assert make(run, None) == 0, f"{run.id} after {point}"
        found, drawn = measured(run.folder)
        tried += 1
        changed = {k: (v, found.get(k)) for k, v in expected.items() if found.get(k) != v}
        changed |= {
            name: "other values"
            for name, value in samples.items()
            if name not in drawn or not torch.equal(drawn[name], value)
        }
        same = not changed and found.keys() == expected.keys() and drawn.keys() == samples.keys()
        said = "same" if same else "DIFFERENT"
        print(f"  {run.name}, {point.hook} {point.nth}: {said}", flush=True)
        if not same:
            different.append(f"{run.name}: {point}: {changed}")
    gc.unfreeze()
    return tried, different


def main(arguments: list[str]) -> int:
    chosen = {name: TRAINED[name] for name in arguments} if arguments else TRAINED
    total, wrong = 0, []
    for name, place in chosen.items():
        tried, different = interrupt_everywhere(place.run(*SHORT))
        total, wrong = total + tried, wrong + different
        print(f"{name}: {tried} points, {len(different)} different", flush=True)
    print(f"{total} points, {len(wrong)} different", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
