"""What several test files share."""

import os
from pathlib import Path

import pytest


def needs_data(name: str) -> pytest.MarkDecorator:
    """Skip a test unless the real dataset lies under ``JUMPBENCH_DATA``."""
    root = os.environ.get("JUMPBENCH_DATA")
    there = root is not None and (Path(root) / name).is_dir()
    return pytest.mark.skipif(not there, reason=f"needs {name} under JUMPBENCH_DATA")
