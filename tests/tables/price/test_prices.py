"""Prices of runs: kept by configuration and code, in seconds of a machine, beside the records."""

import time
from dataclasses import replace

import pytest
import torch

from jumpbench.data import tsp
from jumpbench.errors import UserError
from jumpbench.tables.commands.estimates import ExpectedCost
from jumpbench.tables.commands.gpu import speed as gpu_speed
from jumpbench.tables.commands.run_seconds import estimate
from jumpbench.tables.commands.within import Candidate, choose, seconds_of
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import build, unique_runs
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.scalefiles import expanded
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.price import kept, machines
from jumpbench.tables.price import measured as measured_machine
from jumpbench.tables.price.long_loops import counted
from jumpbench.tables.price.machines import OPERATOR, UTILISATION, Machine, gpu, this_machine
from jumpbench.tables.price.measured import measured
from jumpbench.tables.price.operators import Work
from jumpbench.tables.runs.resources import Resources


def test_a_price_is_counted_once_for_all_seeds_and_kept(monkeypatch):
    run, other = plan_run("dasbs/exact", ("trainer.max_steps=40",)), plan_run("dasbs/exact")
    found = kept.price(run)
    assert not found.why and found.steps == 40 and found.memory_gb > 0
    monkeypatch.setattr(kept, "_counted", lambda run: pytest.fail("counted again"))
    assert kept.price(run) == found == kept.price(replace(run, hash="1"))
    assert kept.digest(run) != kept.digest(other)
    seeds = [plan_run("dasbs/exact", (), seed) for seed in (0, 1)]
    assert kept.digest(seeds[0]) == kept.digest(seeds[1])
    assert kept.price(other, count=False).why == kept.NOT_COUNTED


@pytest.mark.slow
def test_work_grows_with_steps_and_with_what_a_step_does():
    def flops(*overrides):
        return kept.price(plan_run("dasbs/exact", overrides)).work["flops"]

    once = flops("trainer.max_steps=200")
    assert flops("trainer.max_steps=400") == pytest.approx(2 * once, rel=0.3)
    seldom = flops("trainer.max_steps=200", "method.controller.refresh_every=100")
    assert seldom < flops("trainer.max_steps=200", "method.controller.refresh_every=2")


def test_a_fused_optimiser_is_counted_without_its_device():
    found = kept.price(plan_run("symmetric_diffusers/fixed_permutation", ("data.length=5",)))
    assert not found.why and found.work["flops"] > 0


def test_an_assignment_by_scipy_is_passed_without_values():
    digits = ("data.generated=50", "data.train_batch_size=8", "data.n_samples=16")
    found = kept.price(plan_run("symmetric_diffusers/jigsaw_gumbel_sinkhorn", digits))
    assert not found.why and found.work["flops"] > 0


def test_training_items_that_no_traced_step_reads_are_not_made(monkeypatch):
    solved, solve = [], tsp.solve_tours
    monkeypatch.setattr(tsp, "solve_tours", lambda x, *how: solved.append(len(x)) or solve(x, *how))
    tsp.generated_tsp.cache_clear()
    scales = [f"scale=symmetric_diffusers/tours/{name}" for name in ("generated", "small")]
    tours = [*scales, "data.length=10", "data.n_samples=30"]
    run = plan_run("symmetric_diffusers/tsp20", expanded(tours))
    assert run.config["data"]["train_size"] == 50000
    assert kept.price(run).steps == run.config["trainer"]["max_steps"]
    assert sorted(solved) == [30, run.config["data"]["train_batch_size"]]


def test_seconds_of_a_gpu_are_those_of_its_peak_or_of_its_operators():
    full, half = gpu("8xH100"), gpu("H100").at("bf16-mixed")
    nothing = dict.fromkeys(vars(Work()), 0.0)
    work = {**nothing, "flops": 67e12, "operators": 1.0}
    assert full.count == 8 and full.seconds(work) == pytest.approx(1 / UTILISATION)
    assert half.seconds(work) == pytest.approx(67 / 989 / UTILISATION)
    assert full.seconds({**work, "flops": 0.0, "operators": 1e6}) == pytest.approx(1e6 * OPERATOR)
    for wrong in ("8xH1000", "0xH100", "x", "H100x8"):
        with pytest.raises(UserError, match="devices="):
            gpu(wrong)


def test_this_machine_is_measured_once():
    rates, _ = measured()
    assert 1e-14 < rates["flops"] < 1e-9 and 1e-7 < rates["operators"] < 1e-3


@pytest.mark.parametrize("waiting", [0.0, 50.0], ids=["idle", "busy"])
def test_threads_that_wait_for_each_other_are_no_slower_machine(waiting, monkeypatch):
    """What several threads are seen to take is bounded by one thread's own time and its share; a
    disturbed measurement is not kept."""
    threads, asked = torch.get_num_threads(), []

    def rates():
        asked.append(torch.get_num_threads())
        seconds = {"flops": 1.0, "operators": 2.0, "bytes": 1.0}
        if asked[-1] == 1:
            return seconds
        return {"flops": 0.5 + waiting, "operators": 2.0 + waiting, "bytes": 0.01}

    monkeypatch.setattr(measured_machine, "_rates", rates)
    torch.set_num_threads(4)
    try:
        found, lasts = measured()
        assert asked == [1, 4] and torch.get_num_threads() == 4
    finally:
        torch.set_num_threads(threads)
    assert found == {"flops": 1.0 if waiting else 0.5, "operators": 2.0, "bytes": 0.25}
    assert lasts is not bool(waiting)


@pytest.mark.parametrize("lasts", [True, False])
def test_this_machine_is_kept_unless_the_measurement_was_disturbed(lasts, monkeypatch, tmp_path):
    taken = iter([1e-10, 2e-10])
    rates = dict.fromkeys(("flops", "bytes", "operators", "convolved"), 1.0)
    monkeypatch.setattr(machines, "cache_folder", lambda kind: tmp_path)
    monkeypatch.setattr(
        measured_machine, "measured", lambda: ({**rates, "flops": next(taken)}, lasts)
    )
    first, second = this_machine(), this_machine()
    assert first.flops == 1e-10
    assert second.flops == (1e-10 if lasts else 2e-10)


def test_what_decides_most_claims_a_second_is_chosen_first():
    def candidate(name, claims, **seconds):
        return Candidate(name, claims, ExpectedCost(seconds=dict(seconds)))

    one, two = candidate("one", ["a"], x=10.0), candidate("two", ["a", "b"], y=10.0, z=5.0)
    shared, long = candidate("shared", ["a"], y=10.0, w=1.0), candidate("long", ["a"] * 9, v=99.0)
    unknown = Candidate("unknown", ["a"], ExpectedCost(unknown={"u": "row"}))
    everything = [one, two, shared, long, unknown]
    assert [c.table for c in choose(everything, 16.0)] == ["two", "shared"]  # y is shared
    assert [c.table for c in choose(everything, 30.0)] == ["two", "shared", "one"]
    assert [c.table for c in choose(everything, 16.0, 8)] == ["two", "shared", "one"]
    assert choose([candidate("none", [], x=1.0)], 10.0) == []
    assert choose([candidate("made", ["a"])], 10.0) == [], "no run is left that could decide it"
    assert [seconds_of(t) for t in ("8h", "90min", "1.5d")] == [28800, 5400, 129600]
    with pytest.raises(UserError, match="within="):
        seconds_of("8 hours or so")


KINDS_OF_RUNS = {
    "blackout/mnist": {},  # convolutions
    "dasbs/table2": {},  # perceptrons
    "dnfs/exact": {},  # attention, and a memory of paths
    "sgdd/table9": {},  # convolutions over images of one channel
    "symmetric_diffusers/table1": {},  # convolutions of one channel, and pooling
    "symmetric_diffusers/table3": {},  # attention and dropout
}


@pytest.mark.long
@pytest.mark.parametrize("table", KINDS_OF_RUNS)
def test_steps_take_about_what_is_counted(table, monkeypatch):
    """Ten training steps of the first row, timed on one thread, beside their count in units that
    are timed here too."""
    monkeypatch.setattr(gpu_speed, "clock", lambda device: time.thread_time())
    runs = unique_runs(build(load(table), Selection("small", "1")))
    config = next(run.placed() for run in runs if "fit" in run.config["stages"])
    changes = {"trainer": {"max_steps": gpu_speed.STEPS}, **KINDS_OF_RUNS[table]}
    config |= {group: config[group] | keys for group, keys in changes.items()}
    config |= {"stages": ["fit"], "budget": None}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        here = Machine("here", **measured()[0])
        took, _ = gpu_speed.seconds_of(config, "cpu", False)
    finally:
        torch.set_num_threads(threads)
    ratio = here.seconds(counted(config).work) / gpu_speed.STEPS / took
    assert 0.5 <= ratio <= 2, ratio


def test_a_row_is_priced_from_its_record_else_counted(project):
    grid = build(load("toy/coins"), Selection("smoke"))
    runs = [run.hash for run in unique_runs(grid)]
    expected = estimate("toy/coins", "smoke", grid, runs, gpu("H100"), count=True)
    assert set(expected.seconds) | set(expected.unknown) == set(runs)
    assert all(source.startswith("counted, for ") for source in expected.source.values())


def test_ray_packs_a_gpu_by_counted_memory_where_none_is_given():
    module = pytest.importorskip("jumpbench.tables.launchers.ray_tasks")
    tasks = object.__new__(module.Tasks)
    tasks._nodes, tasks._gpu_memory = [{"GPU": 1.0}], 80.0

    def share(counted, **asked):
        return tasks._gpus(Resources(**asked), lambda: counted)

    assert share(8.0) == 0.1 and share(100.0) == 1.0 and share(None) == 1.0
    assert share(8.0, gpu_memory_gb=40.0) == 0.5 and share(8.0, gpus=1) == 1.0
    assert share(8.0, devices=2) == 2.0 and share(8.0, gpus=0) == 0.0
