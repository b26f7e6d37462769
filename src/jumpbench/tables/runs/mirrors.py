"""Mirrors of runs in an experiment logger (W&B): configuration, place in a table, curves, results.

A run's own files are the truth: what is finished can be mirrored from them at any time.
"""

import csv
import logging
import math
import os
from pathlib import Path
from typing import Any, cast

from lightning.pytorch.loggers import Logger
from lightning.pytorch.utilities import rank_zero_only

from jumpbench.tables.planning.gate import construct
from jumpbench.tables.runs import CURVES, METRICS, MIRROR, PROVENANCE, TRAINING
from jumpbench.tables.runs.provenance import code_version
from jumpbench.tables.runs.store import read_json, write_json

"""Beside a finished run: which logger has it."""


def mirror(
    folder: Path,
    config: dict[str, Any],
    labels: dict[str, Any],
    run: str,
    commit: dict[str, Any] | None = None,
) -> list[Logger]:
    """The loggers that ``logger=...`` asks for; none by default.

    A run is called row / column / seed; its group is its table and scale, its job type the row, its
    tags the paper and the scale; its configuration is the whole one, with its labels, hash and
    commit. A resumed run goes on with its id.

    Args:
        commit: of the code that made the run, where that is not the present one.
    """
    wanted = dict(config.get("logger") or {})
    if not wanted:
        return []
    logger = opened({**_titles(folder, config, labels), **wanted}, folder, run)
    logger.log_hyperparams({**config, **described(config, labels, run, commit or code_version())})
    return [logger]


def opened(wanted: dict[str, Any], folder: Path, name: str) -> Logger:
    """The logger of that configuration, its files in ``folder``, its id ``name``.

    W&B is offline without a key, and where it cannot be reached: ``wandb sync`` uploads later.
    """
    if not is_wandb(wanted):
        return _made(wanted, folder, name)
    from wandb.errors import Error

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


def _made(wanted: dict[str, Any], folder: Path, name: str) -> Logger:
    logger = construct(wanted, "logger", save_dir=str(folder), id=name)
    # Lightning passes on a setting that W&B has given up, and of which it warns.
    getattr(logger, "_wandb_init", {}).pop("anonymous", None)
    return logger


def is_wandb(wanted: dict[str, Any]) -> bool:
    return "WandbLogger" in wanted["_target_"]


def described(
    config: dict[str, Any], labels: dict[str, Any], run: str, commit: dict[str, Any]
) -> dict[str, Any]:
    """What a mirror holds beside the configuration."""
    return {
        **labels, "seed": config["seed"], "hash": run,
        "commit": commit["commit"], "dirty": commit["dirty"],
    }  # fmt: skip


def _titles(folder: Path, config: dict[str, Any], labels: dict[str, Any]) -> dict[str, Any]:
    if not labels.get("table"):  # one run by itself
        return {"name": folder.name, "job_type": "run", "tags": [folder.parent.name]}
    name = " / ".join(str(labels[k]) for k in ("row", "column") if labels.get(k))
    return {
        "name": f"{name} / seed {config['seed']}",
        "job_type": str(labels["row"]),
        **place_of(str(labels["table"]), str(labels["scale"])),
    }


def place_of(table: str, scale: str) -> dict[str, Any]:
    """Group and tags of everything that belongs to a table."""
    return {"group": f"{table}@{scale}", "tags": [table.split("/")[0], scale]}


def log_results(loggers: list[Logger], metrics: dict[str, Any]) -> None:
    """What a run has measured, as ``results/NAME``."""
    numbers = {
        f"results/{name}": value
        for name, value in metrics.items()
        if isinstance(value, int | float) and math.isfinite(value)
    }
    for logger in loggers:
        logger.log_metrics(numbers)


def close(loggers: list[Logger]) -> None:
    """End the mirrors, so that the next run of this process starts its own."""
    for logger in loggers:
        logger.finalize("success")
        experiment: Any = getattr(logger, "experiment", None)
        if hasattr(experiment, "finish"):
            experiment.finish()


@rank_zero_only
def mark(folder: Path, config: dict[str, Any]) -> None:
    """Say beside a finished run that it is mirrored."""
    if config.get("logger"):
        write_json(folder / MIRROR, _where(config))


def mirror_finished(folder: Path, config: dict[str, Any], labels: dict[str, Any], run: str) -> bool:
    """Mirror a finished run from its folder; False if that logger has it already.

    Its curves are those of ``training/metrics.csv``.
    """
    path = folder / MIRROR
    if not config.get("logger") or (path.is_file() and read_json(path, "") == _where(config)):
        return False
    commit = read_json(folder / PROVENANCE, "make the run again with fresh=true")
    loggers = mirror(folder, config, labels, run, commit)
    curves = folder / TRAINING / CURVES
    if curves.is_file():
        with curves.open(newline="") as file:
            for row in csv.DictReader(file):
                values = {k: float(v) for k, v in row.items() if v and k != "step"}
                for logger in loggers:
                    logger.log_metrics(values, step=int(float(row["step"])))
    log_results(loggers, read_json(folder / METRICS, "make the run again")["metrics"])
    close(loggers)
    mark(folder, config)
    return True


def _where(config: dict[str, Any]) -> dict[str, Any]:
    logger = config["logger"]
    return {key: logger.get(key) for key in ("_target_", "project", "entity")}


def wandb_key() -> bool:
    """Whether there is a key, in the environment or in the file that ``wandb login`` writes."""
    netrc = Path(os.environ.get("NETRC", Path.home() / ".netrc"))
    return bool(os.environ.get("WANDB_API_KEY")) or (
        netrc.is_file() and "wandb" in netrc.read_text(errors="ignore")
    )
