"""``status --watch``: what another process does is seen until it ends."""

import io
import subprocess
import sys

import pytest
from rich.console import Console

from jumpbench.cli.main import main
from jumpbench.tables.commands import following
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.runs.job import ToFile
from jumpbench.tables.runs.store import write_json

COINS = ["toy/coins", "scale=smoke", "rows=walk"]


@pytest.mark.slow
def test_a_run_of_another_process_is_followed_to_its_end(project, monkeypatch, capsys):
    monkeypatch.setattr(following, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(following, "PLAIN_SECONDS", 0.0)
    slow = ["method.sleep=0.1"]
    making = subprocess.Popen(
        [sys.executable, "-m", "jumpbench", "table", *COINS, *slow], cwd=project,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert main(["status", *COINS, *slow, "--watch"]) == 0
    finally:
        assert making.wait(60) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "toy/coins: 1 running of 1 runs" in lines
    assert lines[-1] == "toy/coins: 1 done of 1 runs"


def test_elsewhere_than_in_a_terminal_it_is_one_line_a_minute(project, monkeypatch, capsys):
    now, looks = [0.0], []
    monkeypatch.setattr(following.time, "monotonic", lambda: now[0])

    def sleep(seconds):
        looks.append(seconds)
        now[0] += seconds
        if len(looks) == 95:  # after 190 s
            raise KeyboardInterrupt

    monkeypatch.setattr(following.time, "sleep", sleep)
    assert main(["status", *COINS, "--watch"]) == 130
    assert capsys.readouterr().out.splitlines() == ["toy/coins: 1 missing of 1 runs"] * 4


def test_a_terminal_shows_step_rate_time_left_and_loss(project, monkeypatch):
    out = Console(file=io.StringIO(), force_terminal=True, width=110, height=12, color_system=None)
    now = [100.0]
    monkeypatch.setattr(following.time, "monotonic", lambda: now[0])
    run = plan_run("toy/walk")
    entry = {"run": run.id, "state": "running", "why": "", "fills": ["walk / small n"], "seed": 0}
    missing = [entry | {"state": "missing", "run": f"toy/{i}"} for i in range(20)]
    content = {"table": "toy/coins", "scale": "smoke", "runs": [*missing, entry]}
    content |= dict.fromkeys(("done", "queued", "stopped", "failed"), 0)
    content |= {"running": 1, "missing": 20}
    paces = {}
    for step in (100, 120):
        run.folder.mkdir(parents=True, exist_ok=True)
        ToFile(run.folder).progress("fit", step, 1000, "loss 0.25")
        shown = following._display(out, [content], paces)
        now[0] += 10.0
    out.print(shown)
    lines = [line.strip() for line in out.file.getvalue().splitlines()]
    assert lines[0] == "toy/coins, smoke: 1 running, 20 missing of 21 runs"
    assert lines[1].startswith(f"running {run.id}  walk / small n: fit 120/1000, 2/s, 7 min 20 s")
    assert "loss 0.25" in lines[1] and lines[-1] == "and 12 more" and len(lines) <= out.height


def test_a_failed_run_ends_it_and_is_told_by_the_status(project, capsys):
    call = ["toy/coins", "scale=smoke", "rows=fair", "columns=small n", "method.fail=broken"]
    assert main(["table", *call]) == 1
    capsys.readouterr()
    assert main(["status", *call, "--watch"]) == 1
    assert capsys.readouterr().out == "toy/coins: 1 failed of 1 runs\n"
    assert main(["status", *call, "--watch", "--json"]) == 2


@pytest.mark.parametrize("event", [{}, [], {"stage": 1, "done": None, "total": 2}])
def test_an_odd_file_of_progress_is_left_alone(project, event, monkeypatch):
    run = plan_run("toy/walk")
    write_json(run.folder / "progress.json", event)
    entry = {"run": run.id, "state": "running", "why": "", "fills": [], "seed": 0}
    assert following._paced(entry, {}) == entry
