"""``jumpbench gpu``: agreement with the CPU, speed, one run; here the CPU against itself."""

import json
import os
import time

import pytest
import torch

from jumpbench.cli.main import main
from jumpbench.paths import outputs_root
from jumpbench.tables.commands import report_page
from jumpbench.tables.commands.gpu import check as gpu_check
from jumpbench.tables.commands.gpu.agreement import (
    Outcome,
    _gradients,
    batches_of,
    differences,
    on_device,
)
from jumpbench.tables.commands.gpu.looks import looks, processes
from jumpbench.tables.commands.gpu.shown import result_file


def test_what_differs_is_found():
    ours = Outcome({"N": {"float32": [torch.ones(4)]}}, [torch.ones(3)], {"": torch.zeros(40)})
    found = differences(ours, ours)
    assert list(found) == ["N, float32", "gradients", "draws"]
    assert all(apart == 0.0 for apart, _ in found.values())
    late = torch.zeros(40).index_fill(0, torch.arange(4), 1)
    other = Outcome(
        {"N": {"float32": [torch.ones(4) * 1.01], "bfloat16": [torch.ones(4) * 1.01]}},
        [torch.tensor([1.0, 1.0, torch.inf])], {"": late},
    )  # fmt: skip
    found = differences(ours, other)
    for name, enough in (("N, float32", False), ("N, bfloat16", True)):
        apart, most = found[name]
        assert apart == pytest.approx(0.01, rel=1e-3) and (apart <= most) is enough
    assert found["gradients"][0] == float("inf") and found["draws"][0] == pytest.approx(0.1)


def test_predictions_are_compared_up_to_rounding_and_states_exactly():
    there = Outcome(draws={"": torch.tensor([1.0, 2.0])})
    for apart, most in ((1e-6, 0.0), (0.1, 0.5)):
        here = Outcome(draws={"": torch.tensor([1.0 + apart, 2.0])})
        assert differences(here, there)["draws"][0] == most


def test_the_weights_stay_while_gradients_are_taken(suite_runs):
    config = suite_runs[0].placed()
    (_, trace, batch), *_ = on_device(config, batches_of(config), "cpu")
    trained = {n: w for n, w in trace.method.named_parameters() if w.requires_grad}
    before = {name: weight.clone() for name, weight in trained.items()}
    assert trained and _gradients(trace, batch)
    for name, weight in trained.items():
        assert torch.equal(weight, before[name]), name


def test_batches_of_any_kind_are_moved():
    """Graphs are no tensors and no containers of them, and have a way to move."""
    run = next(r for r in gpu_check._runs(["dnfs/table1"], "smoke") if r.name == "dmala-mis")
    config = run.placed()
    ((_, _, batch),) = on_device(config, batches_of(config), "meta")
    assert batch.adjacency.device.type == "meta"


@pytest.mark.slow
def test_the_cpu_agrees_with_itself_and_the_report_says_so(capsys, monkeypatch):
    monkeypatch.setattr(report_page, "shown", lambda: ["dasbs/exact"])  # all take half a minute
    assert main(["gpu", "dasbs/exact", "device=cpu", "scale=smoke"]) == 0
    content = json.loads(result_file().read_text())
    looked = [name for one in content["agreement"] for name in one["differences"]]
    assert {"gradients", "draws", "StatePerceptron, bfloat16"} <= set(looked)
    for one in content["agreement"]:
        assert one["agrees"]
        exact = [a for what, (a, _) in one["differences"].items() if "bfloat16" not in what]
        assert exact and not any(exact), one
    assert content["throughput"] and content["run"]["made"]
    for one in content["throughput"]:
        assert 0 < one["share"] < 1 and one["seconds"] > 0, one
    page = report_page.write_page().read_text()
    count = len(content["agreement"])
    assert 'id="gpu"' in page and f"{count} of {count} kinds of runs agree" in page
    del content["run"], content["throughput"]
    result_file().write_text(json.dumps(content))
    page = report_page.write_page().read_text()
    assert f"{count} of {count} kinds" in page and "The check was stopped before its end." in page
    for damage in ("{}", '{"agreement": 3}', "not json"):
        result_file().write_text(damage)
        assert 'id="gpu"' not in report_page.write_page().read_text()
        assert "left out: GPU check" in capsys.readouterr().err


def test_a_device_that_computes_otherwise_fails(monkeypatch):
    real = gpu_check.outcome

    def scaled(config, batches, device, half):
        found = real(config, batches, device, half)
        found.gradients = [g * (1.1 if half else 1.0) for g in found.gradients]
        return found

    monkeypatch.setattr(gpu_check, "outcome", scaled)
    (run, *_) = gpu_check._runs(["dasbs/exact"], "smoke")
    one = gpu_check._agreement(run, "cpu")
    assert not one["agrees"] and one["differences"]["gradients"][0] == pytest.approx(0.1)


def _seen(run):
    return {"hash": run.hash, "threads": torch.get_num_threads()}


def _killed(run):
    os._exit(9)


def test_what_is_late_or_fails_is_left_out_and_the_rest_is_looked_at(suite_runs):
    first, second = suite_runs[:2]

    def look(run):
        if run is first:
            raise ValueError("too small\nby far")
        return {"hash": run.hash}

    assert list(looks([first, second], look, time.time() + 60)) == [
        {"run": f"{first.slug}/{first.name}", "left_out": "ValueError: too small"},
        {"run": f"{second.slug}/{second.name}", "hash": second.hash},
    ]
    assert "no time" in next(looks([first], look, time.time() - 1))["left_out"]


@pytest.mark.slow
def test_several_processes_look_in_order_and_may_die(monkeypatch, suite_runs):
    monkeypatch.setattr("jumpbench.tables.commands.gpu.looks.machine", lambda: {"cores": 4})
    end = time.time() + 600
    with processes() as pool:
        assert pool is not None
        found = list(looks(suite_runs, _seen, end, pool))
        assert [one["hash"] for one in found] == [run.hash for run in suite_runs]
        assert found[0]["threads"] == 2
        dead = list(looks(suite_runs, _killed, end, pool))
        assert all("BrokenProcessPool" in one["left_out"] for one in dead)


def test_two_cores_are_this_process(monkeypatch):
    monkeypatch.setattr("jumpbench.tables.commands.gpu.looks.machine", lambda: {"cores": 2})
    with processes() as pool:
        assert pool is None


@pytest.fixture
def suite_runs():
    return list(gpu_check._runs(["dasbs/exact"], "smoke"))


def test_without_a_gpu_there_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for words, said in (
        ([], "torch sees no GPU here; device=cpu"),
        (["device=tpu"], "device=tpu: give"),
    ):
        assert main(["gpu", "dasbs/exact", *words]) != 0
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1
    assert not result_file().exists() and not (outputs_root() / "tables").exists()
