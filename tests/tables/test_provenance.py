"""Time and memory are the run's own; a module that is not committed makes the code dirty."""

import json
import subprocess
import time

import pytest
import torch

from jumpbench.cli import main
from jumpbench.tables import provenance
from jumpbench.tables.memory import forget_peak, peak_memory_gb
from jumpbench.tables.plan import plan_run


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
    assert 0 < json.loads((folder / "provenance.json").read_text())["wall_seconds"] < 600


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A git repository with a committed module."""

    def git(*words):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)

    for place in ("src/module.py", "reproduce/a/results/b.json", "conf/run.yaml", "pyproject.toml"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("1")
    git("init", "-q")
    git("add", "-A")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
    monkeypatch.setattr(provenance, "checkout", lambda: tmp_path)
    yield tmp_path
    provenance.code_version.cache_clear()


@pytest.mark.parametrize(
    ("place", "dirty"),
    [
        (None, False), ("src/new.py", True), ("src/module.py", True), ("conf/new.yaml", True),
        ("reproduce/a/results/b.json", False), ("outputs/runs/x", False),
    ],
)  # fmt: skip
def test_what_is_not_committed_makes_the_code_dirty(checkout, place, dirty):
    provenance.code_version.cache_clear()
    if place:
        (checkout / place).parent.mkdir(parents=True, exist_ok=True)
        (checkout / place).write_text("2")
    assert provenance.code_version()["dirty"] is dirty
