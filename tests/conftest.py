"""Fixtures of all tests."""

import gc
import os

import pytest
import torch

from support import needs_data  # noqa: F401 - found here too

# Tests are small: one thread is as fast as two, and does not crawl on a machine that is busy.
torch.set_num_threads(1)
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of their children too
# Autograd starts a thread for every device that it finds at its first use, and none for the fake
# ones of tests that come later: processes that have such threads cannot be forked.
torch.ones((), requires_grad=True).backward()


def pytest_collection_modifyitems(items):
    """Each process of ``-n N --dist worksteal`` begins with its share of the slow tests, whole
    files of them: what an idle one takes over from another's end is then quick."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 0))
    slow = [item for item in items if item.get_closest_marker("slow")]
    quick = [item for item in items if not item.get_closest_marker("slow")]
    files = list(dict.fromkeys(item.path for item in slow))
    ordered = []
    for worker in range(workers):  # their shares are of equal length, in order
        length = (len(items) - len(ordered)) // (workers - worker)
        share = [item for item in slow if item.path in files[worker::workers]]
        ordered += share
        ordered += [quick.pop(0) for _ in range(min(len(quick), length - len(share)))]
    items[:] = (ordered + quick) if workers else items


def pytest_collection_finish(session):
    """Before each run of a table memory is collected: over what the tests imported, half a second
    that a toy does not take itself."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session):
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _outputs(tmp_path, tmp_path_factory, monkeypatch):
    """No test writes results outside its own folder. What is composed, planned and counted is kept
    for all tests, also of the session's other processes: it holds for what it was made of."""
    base = tmp_path_factory.getbasetemp()
    session = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path / "outputs"))
    monkeypatch.setenv("JUMPBENCH_CACHE", str(session / "kept"))
    monkeypatch.setattr(os, "fsync", lambda _: None)  # 5 ms a file, and no test cuts the power
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 1)  # 80 ms a table


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """For tests of what is kept: nothing is yet."""
    from jumpbench.tables.planning import plan

    monkeypatch.setenv("JUMPBENCH_CACHE", str(tmp_path / "cache"))
    plan.forget()
    yield
    plan.forget()
