"""Shared fixtures: real datasets are used where they are, and their tests skipped elsewhere."""

import os
from pathlib import Path

import pytest
import torch

torch.set_num_threads(min(torch.get_num_threads(), 2))


def needs_data(name: str) -> pytest.MarkDecorator:
    """Skip a test unless the real dataset lies under ``JUMPBENCH_DATA``."""
    root = os.environ.get("JUMPBENCH_DATA")
    there = root is not None and (Path(root) / name).is_dir()
    return pytest.mark.skipif(not there, reason=f"needs {name} under JUMPBENCH_DATA")


@pytest.fixture(autouse=True)
def _outputs(tmp_path, monkeypatch):
    """No test writes results outside its own folder."""
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path / "outputs"))
