"""Short trainings and tests in a command's own process, without what Lightning says of them."""

import contextlib
import logging
import warnings
from collections.abc import Iterator
from typing import Any

from lightning import Trainer

_NAMES = ("lightning.pytorch", "lightning.fabric")
_NOTHING: dict[str, Any] = {
    "accelerator": "cpu",
    "devices": 1,
    "logger": False,
    "enable_progress_bar": False,
    "enable_checkpointing": False,
    "enable_model_summary": False,
}


@contextlib.contextmanager
def silent_trainer(**settings: Any) -> Iterator[Trainer]:
    """A Lightning trainer on the processor that prints and writes nothing but errors.

    ``settings`` are further arguments of :class:`lightning.Trainer`. Its log levels are put back
    at the end; warnings are ignored meanwhile, by this process.
    """
    loggers = [logging.getLogger(name) for name in _NAMES]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield Trainer(**_NOTHING, **settings)
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
