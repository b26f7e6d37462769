"""Loggers of experiments as configurations name them: opened, told apart and closed."""

import contextlib
import importlib.util
import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from lightning.pytorch.loggers import Logger

from jumpbench.errors import UserError
from jumpbench.tables.planning.gate import construct

Wanted = dict[str, Any]
"""The configuration of one logger."""


def wanted_loggers(config: dict[str, Any]) -> list[Wanted]:
    """The loggers that ``logger=...`` asks for: by their names, or one as it stands; or none."""
    wanted = config.get("logger") or {}
    return [wanted] if "_target_" in wanted else [one for one in wanted.values() if one]


def opened(wanted: Wanted, folder: Path, name: str) -> Logger:
    """The logger of that configuration, its files in ``folder``, its id ``name``.

    W&B is offline without a key, and where it cannot be reached: ``wandb sync`` uploads later.

    Raises:
        UserError: TensorBoard is asked for and not installed.
    """
    if not is_wandb(wanted):
        return _made(wanted, folder, name)
    from wandb.errors import Error

    wanted = {key: value for key, value in wanted.items() if key != "log_model"}  # done here

    os.environ.setdefault("WANDB_SILENT", "true")
    os.environ.setdefault("WANDB_CONSOLE", "off")  # it would stand between us and the terminal
    if wandb_key() and not wanted.get("offline"):
        try:
            online = {"resume": "allow", **wanted}
            logger = _made(online, folder, name)
            _ = cast(Any, logger).experiment
            return logger
        except Error as error:
            line = " ".join(str(error).split())[:200]
            logging.getLogger(__name__).warning("W&B: %s; mirrored offline", line)
    return _made({**wanted, "offline": True}, folder, name)


def _made(wanted: Wanted, folder: Path, name: str) -> Logger:
    if "TensorBoard" in wanted["_target_"] and importlib.util.find_spec("tensorboard") is None:
        raise UserError(
            "logger=tensorboard needs the package tensorboard: pip install -e '.[tensorboard]'"
        )
    identity = {} if is_of_files(wanted) else {"id": name}
    logger = construct(wanted, "logger", save_dir=str(folder), **identity)
    # Lightning passes on a setting that W&B has given up, and of which it warns.
    getattr(logger, "_wandb_init", {}).pop("anonymous", None)
    return logger


def is_wandb(wanted: Wanted) -> bool:
    return "WandbLogger" in wanted["_target_"]


def is_of_files(wanted: Wanted) -> bool:
    """Whether it writes into a folder, and knows neither titles nor ids."""
    return wanted["_target_"].rpartition(".")[2] in ("CSVLogger", "TensorBoardLogger")


def close(loggers: Iterable[Logger], failed: bool = False) -> None:
    """End the mirrors, so that the next run of this process starts its own.

    Of a run that failed or was stopped, an error of theirs does not take the place of its own.
    """
    for logger in loggers:
        with _told() if failed else contextlib.nullcontext():
            logger.finalize("failed" if failed else "success")
            experiment: Any = getattr(logger, "experiment", None)
            if hasattr(experiment, "finish"):
                experiment.finish(exit_code=int(failed))


@contextlib.contextmanager
def closed_on_failure(loggers: Iterable[Logger]) -> Iterator[None]:
    """Whatever ends the block early ends the mirrors, as those of a run that failed."""
    try:
        yield
    except BaseException:
        close(loggers, failed=True)
        raise


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        logging.getLogger(__name__).warning("a mirror could not be closed: %s", error)


def wandb_key() -> bool:
    """Whether there is a key, in the environment or in the file that ``wandb login`` writes."""
    netrc = Path(os.environ.get("NETRC", Path.home() / ".netrc"))
    return bool(os.environ.get("WANDB_API_KEY")) or (
        netrc.is_file() and "wandb" in netrc.read_text(errors="ignore")
    )
