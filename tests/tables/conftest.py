import os
import subprocess
import sys
from pathlib import Path

import pytest
import toys
from forked import ForkedPopen

HERE = Path(__file__).parent


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with the toy experiments and tables, found by this process and its children."""
    toys.write_project(tmp_path)
    monkeypatch.setenv("JUMPBENCH_CONF", str(tmp_path / "conf"))
    monkeypatch.setenv("JUMPBENCH_REPRODUCE", str(tmp_path / "reproduce"))
    monkeypatch.setenv("TOY_TRACE", str(tmp_path / "trace"))
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    )
    from jumpbench.tables.planning import plan

    plan.forget()
    return tmp_path


@pytest.fixture
def own_page(project, monkeypatch):
    """The page holds the toy table alone; the suite's records would take half a minute to draw."""
    monkeypatch.setattr("jumpbench.tables.commands.report_page.shown", lambda: ["toy/coins"])


@pytest.fixture
def forks(monkeypatch):
    """Processes of jumpbench are forked from this one, with torch loaded. Some tests do without,
    and start them as a shell does."""
    monkeypatch.setattr(subprocess, "Popen", ForkedPopen)


@pytest.fixture
def jumpbench(project, forks):
    """Run the command line in a process of its own; returns the finished process."""

    def run(*arguments: str, check: int | None = None, timeout: float = 120):
        command = [sys.executable, "-m", "jumpbench", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=project)
        if check is not None:
            assert done.returncode == check, done.stdout + done.stderr
        return done

    return run
