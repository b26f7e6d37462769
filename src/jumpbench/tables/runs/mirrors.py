"""Mirrors of runs in experiment loggers: configuration, place in a table, curves, results, weights.

A run's own files are the truth: what is finished can be mirrored from them at any time.
"""

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from lightning.pytorch.loggers import Logger
from lightning.pytorch.utilities import rank_zero_only

from jumpbench.artifacts import weights_file
from jumpbench.paths import sweep_of_wandb
from jumpbench.tables.runs import (
    CURVES,
    METRICS,
    MIRROR,
    PROVENANCE,
    TRAINING,
)
from jumpbench.tables.runs.loggers import (
    Wanted,
    close,
    closed_on_failure,
    is_of_files,
    is_wandb,
    opened,
    wanted_loggers,
)
from jumpbench.tables.runs.provenance import code_version
from jumpbench.tables.runs.store import read_json, write_json


def mirror(
    folder: Path,
    config: dict[str, Any],
    labels: dict[str, Any],
    run: str,
    commit: dict[str, Any] | None = None,
    wanted: Sequence[Wanted] | None = None,
) -> list[Logger]:
    """A logger for each that is wanted, by default for each that the configuration names.

    In W&B a run is called row / column / seed; its group is its table and scale, its job type the
    row, its tags the paper and the scale. Its configuration is the whole one, with its labels, hash
    and commit. A resumed run goes on with its id, and a run of a sweep belongs to it.

    Args:
        commit: of the code that made the run, where that is not the present one.
    """
    loggers: list[Logger] = []
    with closed_on_failure(loggers):
        for one in wanted_loggers(config) if wanted is None else wanted:
            titles = {} if is_of_files(one) else _titles(folder, config, labels)
            loggers.append(opened({**titles, **one}, folder, run))
            described_run = described(config, labels, run, commit or code_version())
            loggers[-1].log_hyperparams({**config, **described_run})
    return loggers


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
    titles = {
        "name": f"{name} / seed {config['seed']}",
        "job_type": str(labels["row"]),
        **place_of(str(labels["table"]), str(labels["scale"])),
    }
    if (sweep := sweep_of_wandb(str(labels["table"]))).is_file():
        titles["settings"] = {"sweep_id": read_json(sweep, "delete it")["sweep"]}
    return titles


def place_of(table: str, scale: str) -> dict[str, Any]:
    """Group and tags of everything that belongs to a table."""
    return {"group": f"{table}@{scale}", "tags": [table.split("/")[0], scale]}


def log_results(loggers: list[Logger], metrics: dict[str, Any]) -> None:
    """What a run has measured, as ``results/NAME``, at the last step of its training."""
    numbers = {
        f"results/{name}": value
        for name, value in metrics.items()
        if isinstance(value, int | float) and math.isfinite(value)
    }
    for logger in loggers:
        logger.log_metrics(numbers, step=int(metrics.get("run/steps", 0)))


@rank_zero_only
def log_models(loggers: list[Logger], folder: Path, config: dict[str, Any]) -> None:
    """In W&B: trained weights as an artifact that the run has made, and those of the runs that it
    needs as artifacts that it has used. So a sampler leads to its prior.

    ``logger.wandb.log_model=false`` leaves both away.
    """
    needed = [Path(need) for need in (config.get("needs") or {}).values()]
    for logger, wanted in zip(loggers, wanted_loggers(config), strict=True):
        if not (is_wandb(wanted) and wanted.get("log_model")):
            continue
        run: Any = cast(Any, logger).experiment
        for used in filter(None, map(_weights, needed)):
            # `use_artifact` does this, and then waits for the server, which is none offline.
            run._log_artifact(used, is_user_created=True, use_after_commit=True)
        if made := _weights(folder):
            run.log_artifact(made)


def _weights(folder: Path) -> Any:
    """The artifact of a trained run, equal whoever logs it; None if it has trained nothing."""
    import wandb

    file = weights_file(folder)
    if not file.is_file():
        return None
    artifact = wandb.Artifact(folder.name, type="model", metadata={"run": folder.name})
    artifact.add_file(str(file), policy="immutable")  # no second copy on this disk
    return artifact


@rank_zero_only
def mark(folder: Path, config: dict[str, Any]) -> None:
    """Say beside a finished run that it is mirrored."""
    if wanted := wanted_loggers(config):
        places = [*_places(folder), *map(_where, wanted)]
        write_json(folder / MIRROR, [p for i, p in enumerate(places) if p not in places[:i]])


def mirror_finished(folder: Path, config: dict[str, Any], labels: dict[str, Any], run: str) -> bool:
    """Mirror a finished run from its folder; False if all loggers have it already.

    Its curves are those of ``training/metrics.csv``.
    """
    there = _places(folder)
    wanted = [one for one in wanted_loggers(config) if _where(one) not in there]
    if not wanted:
        return False
    commit = read_json(folder / PROVENANCE, "make the run again with fresh=true")
    loggers = mirror(folder, config, labels, run, commit, wanted)
    with closed_on_failure(loggers):
        _log_curves(loggers, folder / TRAINING / CURVES)
        log_results(loggers, read_json(folder / METRICS, "make the run again")["metrics"])
        log_models(loggers, folder, {**config, "logger": dict(enumerate(wanted))})
    close(loggers)
    mark(folder, config)
    return True


def _log_curves(loggers: Sequence[Logger], curves: Path) -> None:
    if not curves.is_file():
        return
    with curves.open(newline="") as file:
        for row in csv.DictReader(file):
            values = {k: float(v) for k, v in row.items() if v and k != "step"}
            for logger in loggers:
                logger.log_metrics(values, step=int(float(row["step"])))


def _where(wanted: Wanted) -> dict[str, Any]:
    return {key: wanted.get(key) for key in ("_target_", "project", "entity")}


def _places(folder: Path) -> list[dict[str, Any]]:
    """Which loggers have a finished run."""
    path = folder / MIRROR
    places = read_json(path, "delete it") if path.is_file() else []
    return [places] if isinstance(places, dict) else places
