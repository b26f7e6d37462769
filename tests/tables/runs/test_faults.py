"""Killed, doubled, damaged, refused: one clear line, non-zero exit, nothing lost."""

import os
import resource
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
from toys import table_json

from jumpbench.cli.main import main
from jumpbench.tables.planning.plan import plan_run

SLOW = "walk.yaml"


def start(project, *arguments, limit=None):
    return subprocess.Popen(
        [sys.executable, "-m", "jumpbench", *arguments],
        cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=limit,
    )  # fmt: skip


def wait_for(condition, process, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError(f"it never happened: {process.communicate()[0]}")


def cells(project, outputs="outputs"):
    return table_json(project, outputs=outputs)["cells"]


@pytest.mark.slow
def test_killed_at_any_moment_the_table_comes_out_the_same(project, monkeypatch, forks):
    walk = project / "conf/experiment/toy/walk.yaml"
    walk.write_text(walk.read_text().replace("sleep: 0.0", "sleep: 0.05"))
    assert main(["table", "toy/coins", "scale=smoke"]) == 0
    expected = cells(project)
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / "killed"))
    run = plan_run("toy/walk", [], 0).folder
    runs = project / "killed/runs/toy"

    def steps():
        log = run / "checkpoints/last.ckpt"
        return log.exists() and log.stat().st_mtime_ns

    moments = [
        lambda: any(runs.glob("coin-*/config.yaml")),  # a run has begun
        lambda: len(list(runs.glob("coin-*/metrics.json"))) >= 2,  # between two runs
        lambda: (run / "log.txt").exists(),  # training begins
        steps,  # a checkpoint has just been written
    ]
    for moment in moments:
        process = start(project, "table", "toy/coins", "scale=smoke")
        wait_for(moment, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    assert not (run / "metrics.json").exists()
    assert main(["table", "toy/coins", "scale=smoke"]) == 0
    assert cells(project, "killed") == expected


@pytest.mark.slow
def test_two_calls_at_once_make_each_run_once(project, forks):
    coin = project / "conf/experiment/toy/coin.yaml"
    coin.write_text(coin.read_text().replace("sleep: 0.0", "sleep: 1.0"))
    both = [start(project, "table", "toy/coins", "scale=smoke", "rows=fair,biased") for _ in "ab"]
    outputs = [process.communicate(timeout=400)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    made = (project / "trace").read_text().splitlines()
    assert sorted(made) == sorted(["0.5 0", "0.5 0", "0.9 0", "0.9 0"])  # two sizes of each coin
    assert sum(f"done {n}/4" in text for text in outputs for n in range(1, 5)) == 4


@pytest.mark.slow
def test_clocks_a_day_apart_change_nothing(project, forks):
    """Two calls share a table, one of them of a machine whose clock is a day late."""
    coin = project / "conf/experiment/toy/coin.yaml"
    coin.write_text(coin.read_text().replace("sleep: 0.0", "sleep: 1.0"))
    arguments = ("table", "toy/coins", "scale=smoke", "rows=fair,biased")
    right = time.time
    late = partial(setattr, time, "time", lambda: right() - 86400)
    first, second = start(project, *arguments), start(project, *arguments, limit=late)
    outputs = [process.communicate(timeout=400)[0] for process in (first, second)]
    assert [process.returncode for process in (first, second)] == [0, 0], outputs
    made = (project / "trace").read_text().splitlines()
    assert sorted(made) == sorted(["0.5 0", "0.5 0", "0.9 0", "0.9 0"])
    assert [c["status"] for c in cells(project)].count("measured") == 4


def test_a_truncated_record_is_named_and_the_rest_is_kept(project, capsys):
    assert main(["table", "toy/coins", "scale=smoke"]) == 0
    path = plan_run("toy/coin", ["method.bias=0.9"], 0).folder / "metrics.json"
    path.write_text(path.read_text()[:20])
    capsys.readouterr()
    assert main(["table", "toy/coins", "scale=smoke"]) == 1
    shown = capsys.readouterr()
    assert str(path) in shown.err.replace("\n", "") and "delete it" in shown.err
    assert [c["status"] for c in cells(project)].count("measured") == 4
    path.unlink()
    assert main(["table", "toy/coins", "scale=smoke"]) == 0


def test_a_corrupt_checkpoint_is_named_and_kept(project, capsys):
    run = plan_run("toy/walk")
    path = run.folder / "checkpoints/last.ckpt"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not a checkpoint")
    assert main(["run", "experiment=toy/walk"]) == 1
    shown = capsys.readouterr().err
    assert "last.ckpt is corrupt; delete it" in shown and "Traceback" not in shown
    assert path.read_bytes() == b"not a checkpoint"


def test_an_output_folder_that_cannot_be_written(project, capsys, monkeypatch):
    for place in ("/proc/jumpbench", str(project / "reproduce/toy/coins.yaml")):
        monkeypatch.setenv("JUMPBENCH_OUTPUTS", place)
        assert main(["table", "toy/coins", "scale=smoke"]) == 2
        shown = capsys.readouterr().err
        assert "set JUMPBENCH_OUTPUTS" in shown and shown.count("\n") == 1


def test_a_full_disk_stops_with_one_line_and_loses_nothing(project):
    """A limit on the size of files stands for the full disk: writing fails half-way through."""
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    kept = [c for c in cells(project) if c["row"] == "fair"]
    assert [c["status"] for c in kept] == ["measured"] * 2
    # The log of a run is within the limit; the checkpoint of the walk is not.
    walk = start(
        project, "table", "toy/coins", "scale=smoke", "rows=fair,walk",
        limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )  # fmt: skip
    shown = walk.communicate(timeout=120)[0]
    assert walk.returncode in (1, 2) and "Traceback" not in shown
    assert "disk is full" in shown
    fair = plan_run("toy/coin", ["method.bias=0.5"], 0).folder
    assert (fair / "metrics.json").exists()
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair,walk"]) == 0
    after = cells(project)
    assert [c for c in after if c["row"] == "fair"] == kept
    assert "measured" in [c["status"] for c in after if c["row"] == "walk"]


def test_a_malformed_table_file_stops_before_anything_runs(project, capsys):
    path = project / "reproduce/toy/coins.yaml"
    path.write_text(path.read_text().replace("rows:", "rows: [", 1))
    assert main(["table", "toy/coins"]) == 2
    shown = capsys.readouterr().err
    assert str(path) in shown and shown.count("\n") == 1
    assert not (project / "outputs").exists()
    assert main(["list"]) == 0
    assert "malformed" in capsys.readouterr().out


def test_an_interrupt_says_how_to_go_on(project):
    coin = project / "conf/experiment/toy/coin.yaml"
    coin.write_text(coin.read_text().replace("sleep: 0.0", "sleep: 5.0"))
    # A shell that runs the tests in the background has its children ignore interrupts.
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = start(project, "table", "toy/coins", "scale=smoke", "rows=fair", limit=heard)
    wait_for(lambda: (project / "trace").exists(), process)
    process.send_signal(signal.SIGINT)
    shown = process.communicate(timeout=60)[0]
    assert process.returncode == 130 and "call again" in shown and "Traceback" not in shown


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_lock_dies_with_its_process(project, forks):
    coin = project / "conf/experiment/toy/coin.yaml"
    coin.write_text(coin.read_text().replace("sleep: 0.0", "sleep: 60.0"))
    process = start(project, "run", "experiment=toy/coin")
    wait_for(lambda: (project / "trace").exists(), process)
    from jumpbench.tables.runs.held import is_running

    folder = plan_run("toy/coin", ["method.sleep=60.0"]).folder
    assert is_running(folder)
    process.kill()
    process.communicate()
    assert not is_running(folder)
