"""Time left, plain lines, and output streams that refuse."""

import io
import os
import re
import subprocess
import sys

import pytest
from rich.console import Console

from jumpbench.cli.main import main
from jumpbench.tables.commands import progress, reproduction, run_seconds
from jumpbench.tables.commands.pace import Pace
from jumpbench.tables.commands.progress import Terminal
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.price.kept import NOT_COUNTED, Price


def test_the_pace_counts_the_steps_of_this_attempt_from_the_first_one_on():
    pace = Pace(began=0.0)
    pace.reached("fit", 801, 1000, 20.0)  # resumed at 800, after 20 s of imports
    assert pace.left() is None  # one step says nothing
    pace.reached("fit", 811, 1000, 21.0)
    assert pace.left() == pytest.approx(18.9)  # 189 steps at 0.1 s
    assert pace.whole() == pytest.approx(100.0)
    pace.reached("test", 1, 4, 40.0)
    assert pace.left() is None
    pace.reached("test", 2, 4, 43.0)
    assert pace.left() == pytest.approx(6.0)
    pace.reached("test", 3, None, 46.0)
    assert pace.left() is None and pace.share == 0.0


def test_a_single_long_step_has_a_share_and_time_left():
    pace = Pace(began=0.0)
    pace.reached("test", 0.0, 1, 10.0)
    assert pace.said() == "test 0/1"
    pace.reached("test", 0.25, 1, 110.0)
    assert pace.said() == "test 25 %, 5 min 00 s left"
    pace.reached("test", 1.0, 1, 410.0)
    assert pace.said() == "test 1/1" and pace.share == 1


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def left(terminal):
    return terminal._remaining.left(terminal._paces)


def test_the_time_of_all_runs_is_that_of_the_present_and_of_those_to_come(project, clock, capsys):
    runs = [plan_run("toy/walk", seed=seed) for seed in range(3)]
    terminal = Terminal(runs, lambda: None, {run.hash: f"walk {run.seed}" for run in runs})
    terminal.started(runs[0])
    clock[0] = 30.0  # imports
    terminal.progress(runs[0], "fit", 901, 1000)
    assert left(terminal) is None
    clock[0] = 40.0
    terminal.progress(runs[0], "fit", 911, 1000)  # a second a step: 89 s left, 1,000 s a run
    assert left(terminal) == pytest.approx(89 + 2 * 1000)
    clock[0] = 110.0
    terminal.progress(runs[0], "fit", 981, 1000)
    terminal.finished(runs[0])
    terminal.started(runs[1])
    for step in (0, 10):
        terminal.progress(runs[1], "fit", step, 1000)
        clock[0] += 10.0
    assert left(terminal) == pytest.approx(990 + 110)  # 110 s were measured, 1,000 are a guess
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"started 1/3: {runs[0].id} (walk 0)"
    assert lines[1].startswith("0/3, about 33 min 39 s left, ends ")  # a minute has passed
    assert lines[1].endswith(f"; {runs[0].id}: fit 981/1000, 1 s each, 19 s left")
    assert lines[2].startswith("done 1/3, about 3 min 40 s left")  # of the two others
    assert lines[2].endswith("in 1 min 50 s")
    assert lines[3] == f"started 2/3: {runs[1].id} (walk 1)"


def test_a_training_says_nothing_about_runs_of_another_kind(project, clock):
    """Four draws wait behind a training of 1,000 s: they are not expected to take as long."""
    training = plan_run("toy/walk")
    kinds = [["method.n_samples=10"], ["method.n_samples=20"]]
    draws = [plan_run("toy/coin", kind, seed) for kind in kinds for seed in (0, 1)]
    runs, short = [training, *draws], draws[0]

    def trained(expected):
        clock[0] = 0.0
        terminal = Terminal(runs, lambda: None, expected=expected)
        terminal.started(training)
        for step, now in ((0, 0.0), (100, 100.0)):
            clock[0] = now
            terminal.progress(training, "fit", step, 1000)
        return terminal

    assert left(trained({})) is None
    terminal = trained({run.hash: 30.0 for run in draws})
    assert left(terminal) == pytest.approx(900 + 4 * 30)
    clock[0] = 1000.0
    terminal.finished(training)
    terminal.started(short)
    clock[0] = 1010.0
    terminal.finished(short)  # 10 s, and so the other seed of it
    assert left(terminal) == pytest.approx(10 + 2 * 30)
    terminal.failed(draws[1], "broken")
    assert left(terminal) == pytest.approx(2 * 30)
    unknown = trained({})
    clock[0] = 1000.0
    unknown.finished(training)
    unknown.started(short)
    clock[0] = 1200.0
    unknown.finished(short)
    assert left(unknown) == pytest.approx(200 + 2 * (1000 + 200) / 2)
    runs = [training, plan_run("toy/walk", ["trainer.max_steps=7"])]
    assert left(trained({})) is None, "seven steps do not take as long"


def test_a_table_is_expected_to_take_what_its_record_took(project, monkeypatch):
    call, seen = ["table", "toy/coins", "scale=smoke", "rows=fair"], []
    monkeypatch.setattr(run_seconds, "price", lambda run, count: Price(why=NOT_COUNTED))
    monkeypatch.setattr(
        reproduction, "Terminal", lambda *given: seen.append(given[3]) or Terminal(*given)
    )
    assert main(call) == 0
    assert main(["report", "--record", "toy/coins", "scale=smoke"]) == 0
    assert main([*call, "seeds=[1]"]) == 0
    unknown, known = seen
    assert unknown == {} and len(known) == 2 and min(known.values()) > 0


def test_runs_that_are_made_at_once_have_a_line_each(project, clock, monkeypatch):
    screen = Console(file=io.StringIO(), force_terminal=True, width=120, color_system=None)
    monkeypatch.setattr(progress, "console", lambda stderr: screen)
    runs = [plan_run("toy/walk", seed=seed) for seed in range(4)]
    terminal = Terminal(runs, lambda: None, {run.hash: f"walk {run.seed}" for run in runs})

    def shown():
        screen.file.truncate(screen.file.seek(0))
        screen.print(terminal._progress.get_renderable())
        return [line.strip() for line in screen.file.getvalue().splitlines() if line.strip()]

    for run in runs[:2]:
        terminal.started(run)
        terminal.progress(run, "fit", 100, 1000)
    clock[0] = 10.0
    for run, done in zip(runs, (110, 120), strict=False):  # 890 s and 440 s left
        terminal.progress(run, "fit", done, 1000, "loss 0.5")
    assert left(terminal) == pytest.approx((890 + 440 + 2 * 750) / 2)  # 1,000 s and 500 s a run
    everything, first, second = shown()
    assert "0/4, 2 running, about 23 min 35 s left, ends " in everything
    assert "walk 0" in first and "fit 110/1000, 1 s each, 14 min 50 s left, loss 0.5" in first
    assert "walk 1" in second and "fit 120/1000, 2/s, 7 min 20 s left, loss 0.5" in second
    terminal.finished(runs[0])
    terminal.failed(runs[1], "broken")
    (everything,) = shown()
    assert "2/4, 1 failed" in everything


def test_without_a_display_all_runs_share_one_line_a_minute(project, clock, capsys):
    runs = [plan_run("toy/walk", seed=seed) for seed in range(3)]
    terminal = Terminal(runs, lambda: None)
    for run in runs:
        terminal.started(run)
    capsys.readouterr()
    for second in range(0, 300, 5):
        clock[0] = second
        for run in runs:
            terminal.progress(run, "fit", second, 1000)
    assert len(capsys.readouterr().err.splitlines()) == 4


def test_the_end_is_a_time_of_the_day_and_of_another_day_its_name():
    assert re.fullmatch(r"\d\d:\d\d|\w{3} \d\d \w{3} \d\d:\d\d", progress._ends(60))
    assert re.fullmatch(r"\w{3} \d\d \w{3} \d\d:\d\d", progress._ends(2 * 86400))


def test_a_notebook_has_bars_where_it_can_draw_them(project, monkeypatch):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: None)
    assert Terminal([], lambda: None)._plain
    monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: name)
    assert not Terminal([], lambda: None)._plain


def command(project, text, **changed):
    environment = {**os.environ, **changed}
    return subprocess.run(
        ["bash", "-c", text.replace("jumpbench", f"{sys.executable} -m jumpbench")],
        cwd=project, env=environment, capture_output=True, timeout=120,
    )  # fmt: skip


@pytest.mark.slow
def test_streams_that_refuse_are_no_failure(project):
    """Unknown letters, a reader that leaves, closed streams: the command does its work."""
    text = (project / "reproduce/toy/coins.yaml").read_text()
    (project / "reproduce/toy/coins.yaml").write_text(text.replace("title: Toy", "title: Tøy ≈"))
    for encoding in ("ascii", "latin-1"):
        done = command(project, "jumpbench list", PYTHONIOENCODING=encoding)
        assert done.returncode == 0 and b"toy/coins" in done.stdout and not done.stderr
    done = command(project, "set -o pipefail; jumpbench list | head -1; exit $?")
    assert done.returncode == 0 and not done.stderr
    done = command(project, "jumpbench list >&-")
    assert done.returncode == 0 and not done.stderr


def test_a_working_folder_that_is_gone_is_named(project):
    gone = project / "gone"
    gone.mkdir()
    done = command(gone, "rmdir ../gone; jumpbench list")
    assert done.returncode == 2 and done.stderr == (
        b"error: the working folder no longer exists; change to one that does\n"
    )


def test_a_reader_that_leaves_is_quiet(project, monkeypatch):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed())
    monkeypatch.setattr("jumpbench.tables.views.console.quiet_stdout", lambda: None)
    assert main(["list"]) == 0
