"""What several test files share."""

import os
from pathlib import Path

import pytest
import torch


def needs_data(name: str) -> pytest.MarkDecorator:
    """Skip a test unless the real dataset lies under ``JUMPBENCH_DATA``."""
    root = os.environ.get("JUMPBENCH_DATA")
    there = root is not None and (Path(root) / name).is_dir()
    return pytest.mark.skipif(not there, reason=f"needs {name} under JUMPBENCH_DATA")


def quiet_trainer(steps, folder=None, **settings):
    """A trainer on the CPU that takes ``steps`` steps and says and keeps nothing."""
    from lightning import Trainer

    return Trainer(
        accelerator="cpu", max_steps=steps, max_epochs=-1, logger=False, default_root_dir=folder,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        **settings,
    )  # fmt: skip


class OwnHeads:
    """Rows and columns of a drawn table that are called by their own names."""

    def row_head(self, row):
        return row

    def column_head(self, column):
        return column


class FirstBits(torch.nn.Module):
    """The class is the number that the first two bits spell."""

    def forward(self, x):
        return torch.nn.functional.one_hot(2 * x[:, 0] + x[:, 1], 4).float()
