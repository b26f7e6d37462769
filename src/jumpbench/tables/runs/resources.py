"""What a run needs of a machine: ``resources`` in its configuration, outside its identity."""

from dataclasses import dataclass
from typing import Any

from jumpbench.errors import UserError
from jumpbench.names import no_such
from jumpbench.tables.runs.machines import machines

_GPU = ("gpu", "cuda")


@dataclass(frozen=True)
class Resources:
    """What a launcher sets aside for one run.

    Args:
        cpus: cores; by default one for each device.
        gpus: whole GPUs of one node; None: as many as the run has devices, if there are any where
            it is made.
        memory_gb: main memory in GiB; None: not counted.
        gpu_memory_gb: GPU memory in GiB, for runs that may share one GPU; None: whole GPUs.
        minutes: what an attempt at the run may take at most; None: any time.
        devices: processes that the run's trainer starts on a machine.
        machines: that the run is spread over; all else is of each of them.
    """

    cpus: int = 1
    gpus: int | None = None
    memory_gb: float | None = None
    gpu_memory_gb: float | None = None
    minutes: float | None = None
    devices: int = 1
    machines: int = 1

    @staticmethod
    def of(config: dict[str, Any]) -> "Resources":
        """Those of a run's configuration.

        Each device has a process of its own, which computes on a core. A trainer on a GPU needs one
        for each of its devices, one on a CPU none; with ``accelerator: auto`` it takes what there
        is.

        Raises:
            UserError: an unknown resource, or one that is no positive number.
        """
        wanted = dict(config.get("resources") or {})
        known = ("cpus", "gpus", "memory_gb", "gpu_memory_gb", "minutes")
        if unknown := set(wanted) - set(known):
            raise no_such("resource", sorted(map(str, unknown))[0], known)
        amounts: dict[str, Any] = {k: _number(k, v) for k, v in wanted.items() if v is not None}
        trainer = config.get("trainer") or {}
        devices = _devices(trainer)
        amounts.setdefault("cpus", devices)
        accelerator = str(trainer.get("accelerator", "auto"))
        if "gpus" not in amounts and accelerator != "auto":
            amounts["gpus"] = devices if accelerator in _GPU else 0
        if "gpu_memory_gb" in amounts and amounts.get("gpus", 0) > 1:
            raise UserError("resources.gpu_memory_gb is for a part of one GPU; leave out gpus=")
        amounts |= {key: int(amounts[key]) for key in ("cpus", "gpus") if key in amounts}
        return Resources(**amounts, devices=devices, machines=machines(trainer))


def time_limit(config: dict[str, Any]) -> float | None:
    """Seconds that an attempt may take, by ``resources.minutes``."""
    minutes = (config.get("resources") or {}).get("minutes")
    return None if minutes is None else 60 * _number("minutes", minutes)


def _devices(trainer: dict[str, Any]) -> int:
    devices = trainer.get("devices", 1)
    if isinstance(devices, (list, tuple)):
        return len(devices)
    return max(int(devices), 1) if str(devices).isdigit() else 1


def _number(key: str, value: Any) -> float:
    whole = key in ("cpus", "gpus")
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise UserError(f"resources.{key}={value}: give a number")
    if (value == 0 and key != "gpus") or (whole and value != int(value)):
        raise UserError(f"resources.{key}={value}: give a {'whole ' * whole}number above zero")
    return value
