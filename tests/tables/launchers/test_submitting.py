"""What launchers take and what is submitted, without a scheduler or a cluster."""

import contextlib
import importlib
import re
from types import SimpleNamespace

import pytest

from jumpbench.errors import UserError
from jumpbench.tables.launchers import launcher
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.runs.failures import read_failure, record_failure

SHORT = "launcher.minutes=2: a job must be longer than launcher.warning (120 s)"
REFUSED = [
    ("slurm", "minutes=0", "launcher.minutes=0: give 1 or more"),
    ("slurm", "minutes=2", SHORT),
    ("slurm", "warning=0", "launcher.warning=0: give 1 or more"),
    ("slurm", "warning=14400", "launcher.minutes=240: a job must be longer than"),
    ("slurm", "parallel=0", "launcher.parallel=0: give 1 or more"),
    ("slurm", "restarts=-1", "launcher.restarts=-1: give 0 or more"),
    ("ray", "cpus=0", "launcher.cpus=0: give 1 or more"),
    ("ray", "gpus=-1", "launcher.gpus=-1: give 0 or more"),
    ("ray", "retries=-1", "launcher.retries=-1: give 0 or more"),
    ("ray", "gpu_memory_gb=0", "launcher.gpu_memory_gb=0: give a number above 0"),
    ("ray", "gpu_memory_gb=.nan", "launcher.gpu_memory_gb=nan: give a number above 0"),
]
TAKEN = [
    ("slurm", ["minutes=3", "restarts=0", "parallel=1"]),
    ("slurm", ["minutes=2", "warning=119"]),
    ("ray", ["cpus=1", "gpus=0", "retries=0", "gpu_memory_gb=0.5"]),
    ("ray", []),
]


def made(name, options):
    pytest.importorskip({"slurm": "submitit", "ray": "ray"}[name], reason=f"needs .[{name}]")
    return launcher(name, [f"launcher.{option}" for option in options])


@pytest.fixture(autouse=True)
def sbatch(monkeypatch):
    """A program of that name is all that is asked for before anything is submitted."""
    monkeypatch.setattr("shutil.which", lambda name, **_: f"/usr/bin/{name}")


@pytest.mark.parametrize(("name", "option", "line"), REFUSED)
def test_options_out_of_range_are_refused(name, option, line):
    with pytest.raises(UserError, match=re.escape(line)):
        made(name, [option])


@pytest.mark.parametrize(("name", "options"), TAKEN)
def test_options_at_the_end_of_their_range_are_taken(name, options):
    assert made(name, options)


@pytest.mark.parametrize(("devices", "cpus"), [("1", 1), ("4", 4), ("[0,1]", 2)])
def test_srun_is_told_the_cores_of_a_job(project, devices, cpus):
    run = plan_run("toy/walk", [f"trainer.devices={devices}"])
    asked = made("slurm", []).parameters(run)
    assert asked["cpus_per_task"] == cpus
    assert asked["slurm_srun_args"] == [f"--cpus-per-task={cpus}"]


def test_a_job_that_fails_at_once_keeps_its_reason(project, monkeypatch):
    """The scheduler starts it before sbatch returns; the reason of an earlier job is dropped."""
    place = made("slurm", [])
    module = importlib.import_module("jumpbench.tables.launchers.slurm")
    first, last = plan_run("toy/walk"), plan_run("toy/walk", [], 1)

    class Executor:
        def __init__(self, **_):
            pass

        def update_parameters(self, **_):
            pass

        @contextlib.contextmanager
        def batch(self):
            yield
            record_failure(last.folder, "UserError", "the data are missing")

        def submit(self, job):
            return SimpleNamespace(job_id="1", paths=SimpleNamespace(stderr="log"))

    monkeypatch.setattr(module.submitit, "AutoExecutor", Executor)
    for run in (first, last):
        record_failure(run.folder, "UserError", "of an earlier job")
    place._submit_array([first, last])
    assert read_failure(first.folder) is None
    assert read_failure(last.folder) == "the data are missing"


@pytest.mark.parametrize(
    ("devices", "more", "threads"), [(1, [], 1), (4, [], 1), (1, ["resources.cpus=3"], 3),
                                     (2, ["resources.cpus=5"], 2)],
)  # fmt: skip
def test_the_processes_of_a_worker_share_its_cores(project, monkeypatch, devices, more, threads):
    place = made("ray", [])
    module = importlib.import_module("jumpbench.tables.launchers.ray")
    submitted = []

    class Function:
        def options(self, **_):
            return SimpleNamespace(remote=lambda job, *rest: submitted.append(job))

    call = object.__new__(module._Call)
    call._place, call._labels, call._refs, call._environment = place, {}, {}, {}
    call._failures = SimpleNamespace(reached=lambda run: False)
    call._tasks = SimpleNamespace(
        by=lambda resources, _: (Function(), {"num_cpus": resources.cpus})
    )
    call._submit(plan_run("toy/walk", [f"trainer.devices={devices}", *more]), {})
    assert submitted[0][-1] == threads
