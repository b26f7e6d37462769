"""Fixtures of all tests."""

import gc

import pytest
import torch

from support import needs_data  # noqa: F401 - found here too

# Tests are small: one thread is as fast as two, and does not crawl on a machine that is busy.
torch.set_num_threads(1)


def pytest_collection_finish(session):
    """Before each run of a table memory is collected: over what the tests imported, half a second
    that a toy does not take itself."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session):
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _outputs(tmp_path, monkeypatch):
    """No test writes results outside its own folder."""
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path / "outputs"))
    monkeypatch.setenv("JUMPBENCH_CACHE", str(tmp_path / "cache"))
