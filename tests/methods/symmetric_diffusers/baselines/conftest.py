"""A quiet trainer on the CPU."""

from functools import partial

import pytest
from lightning import Trainer


@pytest.fixture
def cpu_trainer(tmp_path):
    return partial(
        Trainer,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        default_root_dir=tmp_path,
    )
