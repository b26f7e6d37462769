"""What a configuration says of devices: how many, who gets which part of a batch, what strategy."""

from typing import Any

import torch

from jumpbench.errors import UserError
from jumpbench.tables.runs.machines import machines


def world_size(trainer: dict[str, Any]) -> int:
    """Number of processes a trainer configuration asks for, on all its machines.

    Raises:
        UserError: ``devices`` is neither a number nor a list, ``num_nodes`` no number.
    """
    devices = trainer.get("devices", 1)
    if isinstance(devices, str) and devices not in ("auto", "-1"):
        raise UserError(f"trainer.devices={devices}: give a number of devices, or a list of them")
    if devices in ("auto", "-1", -1):
        devices = max(torch.cuda.device_count(), 1)
    each = len(devices) if isinstance(devices, (list, tuple)) else int(devices)
    return machines(trainer) * each


def trainer_settings(config: dict[str, Any]) -> dict[str, Any]:
    """The trainer's arguments; what is null is left to Lightning."""
    return {k: v for k, v in dict(config["trainer"]).items() if v is not None}


def data_settings(config: dict[str, Any]) -> dict[str, Any]:
    """The DataModule's arguments: each process gets its part of the global ``train_batch_size``.

    So does each of the batches whose gradients a step accumulates. Test batches are shared out
    whole: ``batch_size`` stays.

    Raises:
        UserError: the devices, or what they accumulate, do not divide the batch.
    """
    settings = dict(config["data"] or {})
    if "fit" not in config["stages"]:
        return settings
    if not (batch := settings.get("train_batch_size")):
        return settings
    world = world_size(config["trainer"])
    accumulated = int(config["trainer"].get("accumulate_grad_batches") or 1)
    if accumulated < 1 or batch % (world * accumulated):
        parts = f" in {accumulated} parts each" if accumulated != 1 else ""
        keys = "trainer.devices" + " times trainer.accumulate_grad_batches" * bool(parts)
        raise UserError(
            f"the global batch of {batch} cannot be kept on {world} "
            f"device{'s' * (world > 1)}{parts}; choose {keys} "
            "so that it divides the batch"
        )
    settings["train_batch_size"] = batch // (world * accumulated)
    return settings


def strategy(settings: dict[str, Any], method: Any) -> str:
    """Lightning's strategy: as configured; by default plain DDP on several devices, in the form
    that looks for unused parameters where the method's class says ``unused_parameters = True``."""
    wanted = str(settings.pop("strategy", "auto"))
    unused = getattr(method, "unused_parameters", False)
    if world_size(settings) > 1 and wanted in ("auto", "ddp") and unused:
        return "ddp_find_unused_parameters_true"
    return wanted
