"""Fixtures of all tests."""

import pytest
import torch

from support import needs_data  # noqa: F401 - found here too

# Tests are small: one thread is as fast as two, and does not crawl on a machine that is busy.
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _outputs(tmp_path, monkeypatch):
    """No test writes results outside its own folder."""
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path / "outputs"))
