"""Mirrors of a run in an experiment logger (W&B): its configuration, its place in a table."""

import os
from pathlib import Path
from typing import Any

from hydra.utils import instantiate
from lightning.pytorch.loggers import Logger

from jumpbench.tables.provenance import code_version


def mirror(folder: Path, config: dict[str, Any], labels: dict[str, Any], run: str) -> list[Logger]:
    """The loggers that ``logger=...`` asks for; none by default.

    A run is called row / column / seed; its group is its table and scale, its job type the row, its
    tags the paper and the scale; its configuration is the whole one, with its labels, hash and
    commit. A resumed run goes on with its id.
    """
    wanted = dict(config.get("logger") or {})
    if not wanted:
        return []
    wanted = {**_titles(folder, config, labels), **wanted}
    if "WandbLogger" in wanted["_target_"]:
        os.environ.setdefault("WANDB_SILENT", "true")
        if _wandb_key():
            wanted.setdefault("resume", "allow")
        else:
            wanted["offline"] = True
    logger = instantiate(wanted, save_dir=str(folder), id=run, _convert_="all")
    logger.log_hyperparams({**config, **described(config, labels, run)})
    return [logger]


def described(config: dict[str, Any], labels: dict[str, Any], run: str) -> dict[str, Any]:
    """What a mirror holds beside the configuration."""
    commit = code_version()
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
        "group": f"{labels['table']}@{labels['scale']}",
        "job_type": str(labels["row"]),
        "tags": [str(labels["table"]).split("/")[0], str(labels["scale"])],
    }


def close(loggers: list[Logger]) -> None:
    """End the mirrors, so that the next run of this process starts its own."""
    for logger in loggers:
        logger.finalize("success")
        if hasattr(logger.experiment, "finish"):
            logger.experiment.finish()


def _wandb_key() -> bool:
    netrc = Path(os.environ.get("NETRC", Path.home() / ".netrc"))
    return bool(os.environ.get("WANDB_API_KEY")) or (
        netrc.is_file() and "wandb" in netrc.read_text(errors="ignore")
    )
