"""What libraries say during a run goes to its log file, not to the terminal."""

import contextlib
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path

from jumpbench.files import disk_errors

_NAMES = ("lightning", "lightning.pytorch", "lightning.fabric", "pytorch_lightning", "py.warnings")


class _LogFile(logging.FileHandler):
    """A log on a full disk loses lines; the run that fills it reports the disk, not the log."""

    def handleError(self, record: logging.LogRecord) -> None:
        return


@contextlib.contextmanager
def logging_to(path: Path) -> Iterator[logging.Logger]:
    """Send python logging, Lightning's messages and warnings to ``path`` (appended)."""
    with disk_errors(path):
        handler = _LogFile(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    touched = [root, *map(logging.getLogger, _NAMES)]
    before = [(logger, logger.handlers[:], logger.propagate, logger.level) for logger in touched]
    shown = warnings.showwarning
    try:
        for logger in touched:
            logger.handlers = [handler]
            logger.propagate = False
        root.setLevel(logging.INFO)
        logging.captureWarnings(True)
        yield logging.getLogger("jumpbench")
    finally:
        logging.captureWarnings(False)
        warnings.showwarning = shown
        for logger, handlers, propagate, level in before:
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)
        with contextlib.suppress(OSError):  # the rest of the buffer, on a full disk
            handler.close()
