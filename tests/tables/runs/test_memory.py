"""Freed memory stays with the process of a run, and nothing else does."""

import gc
import os
import platform
import subprocess
import sys
import weakref

import pytest

from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.runs.attempt import attempt
from jumpbench.tables.runs.job import Job, Outcome
from jumpbench.tables.runs.memory import forget_peak, many_runs

LIBRARY, VERSION = platform.libc_ver()
NEW = LIBRARY == "glibc" and tuple(map(int, VERSION.split(".")[:2])) >= (2, 35)

# Megabytes that glibc holds more after ten blocks came and went than before. Its own books: page
# faults depend on what happens to lie above the blocks. Blocks just below the largest size that
# older ones keep, so that by default each is a mapping of its own, given back when it is freed.
PROBE = """
import ctypes
import sys
import torch
from jumpbench.tables.runs.memory import keep_freed_memory

class Mallinfo2(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

mallinfo2 = getattr(ctypes.CDLL(None), "mallinfo2", None)
if mallinfo2 is None:
    sys.exit("no glibc of version 2.33 or later")
mallinfo2.restype = Mallinfo2

def held():
    books = mallinfo2()
    return (books.arena + books.hblkhd) // 2**20

agreed = keep_freed_memory() if sys.argv[1] == "keep" else False
before = held()
blocks = [torch.empty(int(sys.argv[2]) * 2**20, dtype=torch.uint8) for _ in range(10)]
del blocks
print(held() - before, int(agreed))
"""


def probe(*, keep: bool, size: int = 30, **environment: str) -> tuple[int, bool]:
    """Megabytes held of ten blocks that were freed, and whether glibc agreed to keep them."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_"))}
    command = [sys.executable, "-c", PROBE, "keep" if keep else "leave", str(size)]
    shown = subprocess.run(command, env=clean | environment, capture_output=True, text=True)
    if "no glibc" in shown.stderr:
        pytest.skip(shown.stderr.strip())
    assert shown.returncode == 0, shown.stderr
    megabytes, agreed = map(int, shown.stdout.split())
    return megabytes, bool(agreed)


@pytest.mark.slow
def test_the_next_step_finds_the_memory_of_the_last():
    by_default, _ = probe(keep=False)
    kept, agreed = probe(keep=True)
    assert agreed
    assert by_default < 30
    # One block may fit into what the heap had free; without a trim threshold half are left.
    assert kept > 250


@pytest.mark.slow
@pytest.mark.skipif(not NEW, reason="needs glibc 2.35")
def test_so_it_does_of_large_blocks():
    assert probe(keep=True, size=100)[0] > 800
    assert probe(keep=True, size=300)[0] < 100  # too much to hold for what may not come again


def test_settings_of_the_environment_win():
    kept, agreed = probe(keep=True, MALLOC_TRIM_THRESHOLD_="100000")
    assert not agreed
    assert kept < 30


@pytest.mark.slow
def test_a_run_leaves_nothing_of_itself_in_the_process(project):
    """What a run constructs goes with it, however many runs one process makes."""
    from lightning import LightningModule, Trainer

    def alive():
        gc.collect()
        found = [o for o in gc.get_objects() if isinstance(o, (Trainer, LightningModule))]
        return len(found)

    before = alive()
    for seed in range(3):
        run = plan_run("toy/walk", (), seed)
        assert attempt(Job(run.folder, run.placed())).outcome is Outcome.FINISHED
        # Lightning may hold the last one.
        assert alive() - before <= 2


class Cycle:
    """Garbage that only a collection finds."""

    def __init__(self):
        self.itself = self


COUNT = gc.get_freeze_count  # tests do without


@pytest.fixture
def nothing_frozen(monkeypatch):
    monkeypatch.setattr(gc, "get_freeze_count", COUNT)
    gc.unfreeze()
    yield
    gc.freeze()  # as at the start of all tests


def test_collections_between_runs_leave_out_what_was_there_before(nothing_frozen):
    found = []
    with many_runs():
        forget_peak()
        there = gc.get_freeze_count()
        assert there > 10_000
        gone = weakref.ref(Cycle(), found.append)
        forget_peak()
        assert gone() is None and found  # what the run left is seen
        assert gc.get_freeze_count() <= there
    assert gc.get_freeze_count() == 0
    forget_peak()
    assert gc.get_freeze_count() == 0  # outside nothing is left out
    gc.freeze()
    try:
        with many_runs():
            forget_peak()
        assert gc.get_freeze_count() > 0  # what somebody froze stays frozen
    finally:
        gc.unfreeze()
    with pytest.raises(ZeroDivisionError), many_runs():
        forget_peak()
        raise ZeroDivisionError
    assert gc.get_freeze_count() == 0
