"""Ray's own engine: a cluster of several nodes on this machine, and what happens when one dies."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from jumpbench.cli.main import main
from jumpbench.tables.planning.plan import plan_run

ray = pytest.importorskip("ray", reason="ray is not installed (pip install -e '.[ray]')")
pytestmark = pytest.mark.slow
TABLE = ["table", "toy/coins", "scale=smoke"]


@pytest.fixture(scope="module")
def cluster():
    """A head without cores and two nodes with one each."""
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_worker_niceness", "0")  # 15 by default: starved on a busy machine
    small = {"object_store_memory": 80 * 2**20}
    made = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **small}
    )
    made.node_arguments = {"num_cpus": 1, **small}
    made.nodes = [made.add_node(**made.node_arguments) for _ in range(2)]
    yield made
    made.shutdown()


@pytest.fixture
def on_ray(cluster):
    return ["launcher=ray", f"launcher.address={cluster.address}", "launcher.env=TOY_TRACE"]


def cells(project, outputs):
    """What the table's cells hold, without when and where."""
    table = json.loads((project / outputs / "tables/toy/coins/smoke/table.json").read_text())
    keys = ("row", "column", "metric", "status", "measured", "values", "note")
    return [{key: cell[key] for key in keys} for cell in table["cells"]]


def test_cells_equal_the_serial_ones(project, on_ray, monkeypatch, capsys):
    """Also where a run fails, and where one needs another."""
    table = project / "reproduce/toy/coins.yaml"
    rows = "  - {name: second, experiment: toy/second}\n"
    rows += "  - {name: bad, overrides: [method.fail=no]}\n"
    table.write_text(table.read_text().replace("columns:", rows + "columns:"))
    for outputs, launcher in (("serial", []), ("ray", on_ray)):
        monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / outputs))
        assert main([*TABLE, *launcher]) == 1
    serial, made = cells(project, "serial"), cells(project, "ray")
    assert len(made) == len(serial) > 8
    for one, other in zip(serial, made, strict=True):
        notes = [cell.pop("note") for cell in (one, other)]
        assert one == other and all((note or "")[:16] == (notes[0] or "")[:16] for note in notes)
    assert {cell["status"] for cell in made} == {"measured", "failed", "cited"}
    trace = (project / "trace").read_text().splitlines()
    assert sorted(trace)[::2] == sorted(trace)[1::2]  # each run once by each launcher
    assert "failed: toy/coin-" in capsys.readouterr().err


def test_a_failed_need_fails_its_users(project, on_ray, capsys):
    second = project / "conf/experiment/toy/second.yaml"
    second.write_text(second.read_text().replace('bias=0.25"', 'bias=0.25", "method.fail=no"'))
    assert main(["run", "experiment=toy/second", *on_ray]) == 1
    shown = capsys.readouterr().err
    assert "RuntimeError: no" in shown and "it needs toy/coin-" in shown and "which failed" in shown


def test_a_killed_node_costs_a_retry_from_the_last_checkpoint(
    project, cluster, on_ray, monkeypatch, capsys
):
    walk = project / "conf/experiment/toy/walk.yaml"
    walk.write_text(walk.read_text().replace("sleep: 0.0", "sleep: 0.3"))
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / "serial"))
    chosen = [*TABLE, "rows=walk", "seeds=2"]
    assert main(chosen) == 0
    expected = cells(project, "serial")
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / "ray"))
    runs = [plan_run("toy/walk", [], seed) for seed in (0, 1)]
    killed = []

    def kill():
        deadline = time.monotonic() + 200
        while time.monotonic() < deadline:
            if all((run.folder / "checkpoints/last.ckpt").exists() for run in runs):
                cluster.remove_node(cluster.nodes.pop(), allow_graceful=False)
                killed.append([(run.folder / "metrics.json").exists() for run in runs])
                return
            time.sleep(0.1)

    killer = threading.Thread(target=kill)
    killer.start()
    assert main([*chosen, *on_ray]) == 0
    killer.join()
    cluster.nodes.append(cluster.add_node(**cluster.node_arguments))
    assert killed == [[False, False]]
    assert cells(project, "ray") == expected
    log = "".join((run.folder / "log.txt").read_text() for run in runs)
    assert "Restor" in log or "resum" in log.lower(), log[-2000:]


def test_an_interrupt_saves_checkpoints(project, monkeypatch):
    """SIGINT to the whole group, as from a terminal; Ray of its own."""
    walk = project / "conf/experiment/toy/walk.yaml"
    walk.write_text(walk.read_text().replace("sleep: 0.0", "sleep: 0.5"))
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / "ray"))
    run = plan_run("toy/walk", ["checkpoint_every=1000"])
    command = [sys.executable, "-m", "jumpbench", "run", "experiment=toy/walk", "launcher=ray"]
    command += ["launcher.cpus=1", "checkpoint_every=1000"]
    child = subprocess.Popen(
        command, cwd=project, start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 200
    while not (run.folder / "progress.json").exists() and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(1)
    os.killpg(child.pid, signal.SIGINT)
    assert "call again" in child.communicate(timeout=120)[1] and child.returncode == 130
    assert (run.folder / "checkpoints/last.ckpt").exists()
    assert not (run.folder / "begun.json").exists() and not (run.folder / "metrics.json").exists()


def test_a_killed_coordinator_repeats_nothing_and_loses_nothing(project, monkeypatch, capsys):
    """The command itself is killed, with Ray of its own; then called again."""
    walk = project / "conf/experiment/toy/walk.yaml"
    walk.write_text(walk.read_text().replace("sleep: 0.0", "sleep: 0.4"))
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / "serial"))
    assert main(TABLE) == 0
    (project / "trace").unlink()
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / "ray"))
    command = [*TABLE, "launcher=ray", "launcher.cpus=2", "launcher.env=TOY_TRACE"]
    run = plan_run("toy/walk")
    coins = project / "ray/runs/toy"
    child = subprocess.Popen(
        [sys.executable, "-m", "jumpbench", *command], cwd=project, stderr=subprocess.DEVNULL
    )
    until(lambda: (run.folder / "checkpoints/last.ckpt").exists() and list(coins.glob("c*/me*")))
    child.kill()
    child.wait()
    assert not (run.folder / "metrics.json").exists()
    until(lambda: main(["status", *TABLE[1:]]) and "running" not in capsys.readouterr().out)
    main(["status", *TABLE[1:]])
    assert f"stopped {run.id}  walk / small n: at step " in capsys.readouterr().out
    finished = {path: path.stat().st_mtime_ns for path in coins.glob("*/metrics.json")}
    assert finished and main(command) == 0
    assert all(path.stat().st_mtime_ns == written for path, written in finished.items())
    assert cells(project, "ray") == cells(project, "serial")


def until(holds, seconds=200):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_full_disk_on_a_worker_fails_its_runs_and_no_more(project, on_ray, monkeypatch, capsys):
    """Outputs on a file system of 400 kB, which is then made larger."""
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / "serial"))
    assert main(TABLE) == 0
    small = project / "ray"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "none", str(small)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a file system can be mounted by root only")
    try:
        (small / "filler").write_bytes(b"x" * 250_000)
        monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(small))
        assert main([*TABLE, *on_ray]) in (1, 2)
        shown = capsys.readouterr().err
        assert "disk is full" in shown and "Traceback" not in shown
        subprocess.run(["mount", "-o", "remount,size=40m", str(small)], check=True)
        assert main([*TABLE, *on_ray]) == 0
        assert cells(project, "ray") == cells(project, "serial")
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_what_no_machine_has_is_one_line(project, capsys):
    command = ["run", "experiment=toy/coin", "launcher=ray", "launcher.cpus=1"]
    assert main([*command, "resources.cpus=3"]) == 1
    assert "a run asks for 3 CPUs, and no machine here has more than 1" in capsys.readouterr().err
    assert main([*command, "launcher.address=127.0.0.1:1"]) in (1, 2)
    assert "launcher.address" in capsys.readouterr().err
