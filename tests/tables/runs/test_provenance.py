"""What a run notes of itself: time, memory, precision, and the code that made it."""

import json
import time

import torch
import toys

from jumpbench.cli.main import main
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.runs import provenance
from jumpbench.tables.runs.memory import forget_peak, peak_memory_gb


def test_the_peak_of_an_earlier_run_is_forgotten():
    block = torch.ones(100_000_000)  # 0.4 GB
    forget_peak()
    before = peak_memory_gb(on_gpu=False)
    del block
    forget_peak()
    assert peak_memory_gb(on_gpu=False) < before - 0.3
    block = torch.ones(100_000_000)
    del block
    assert peak_memory_gb(on_gpu=False) > before - 0.1


def test_a_clock_that_is_set_back_changes_no_time(project, monkeypatch):
    clock = iter(range(10**9, 0, -3600))
    monkeypatch.setattr(time, "time", lambda: float(next(clock)))
    assert main(["run", "experiment=toy/walk"]) == 0
    folder = plan_run("toy/walk").folder
    metrics = json.loads((folder / "metrics.json").read_text())["metrics"]
    assert 0 < metrics["run/fit_seconds"] < 600 and 0 < metrics["run/test_seconds"] < 600
    made = json.loads((folder / "provenance.json").read_text())
    assert 0 < made["wall_seconds"] < 600 and 0 < made["processor_seconds"] < 600


def test_numbers_of_single_samples_are_kept_with_the_metrics(project, monkeypatch):
    each = {"mean": [0.0, 1.0]}
    monkeypatch.setattr(toys.Heads, "artifacts", lambda self: {"mean": 0.5, "by_sample": each})
    assert main(["run", "experiment=toy/coin"]) == 0
    folder = plan_run("toy/coin").folder
    assert json.loads((folder / "metrics.json").read_text())["by_sample"] == each
    assert torch.load(folder / "samples.pt")["mean"] == 0.5
    assert "by_sample" not in torch.load(folder / "samples.pt")


def test_the_code_of_a_run_is_noted_before_it_begins(project, monkeypatch):
    """What is edited while a run is made did not make it."""
    seen = []
    monkeypatch.setattr(provenance, "edited", lambda root: {"src/x.py": f"{len(seen)}"})
    monkeypatch.setattr(provenance, "code_version", lambda: {"commit": "0", "dirty": True})
    provenance.edited_code.cache_clear()
    monkeypatch.setattr(toys.Walk, "on_test_end", lambda self: seen.append(1))
    assert main(["run", "experiment=toy/walk"]) == 0
    made = json.loads((plan_run("toy/walk").folder / "provenance.json").read_text())
    assert seen and made["edited"] == {"src/x.py": "0"}
    provenance.edited_code.cache_clear()


def test_precision_is_recorded_and_tf32_is_off_unless_asked_for(project):
    matmul, convolution = torch.backends.cuda.matmul, torch.backends.cudnn
    assert plan_run("toy/walk").hash == plan_run("toy/walk", ("tf32=false",)).hash
    for word, on in (("true", True), ("false", False)):
        assert main(["run", "experiment=toy/walk", f"tf32={word}"]) == 0
        origin = json.loads(
            (plan_run("toy/walk", (f"tf32={word}",)).folder / "provenance.json").read_text()
        )
        assert (origin["precision"], origin["tf32"]) == ("32-true", on)
        assert matmul.allow_tf32 is convolution.allow_tf32 is on
