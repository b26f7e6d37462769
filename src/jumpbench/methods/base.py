"""What every method shares: named, checkpointed random generators and a place for its artifacts."""

from pathlib import Path
from typing import Any

import torch
from lightning import LightningModule

from jumpbench.errors import UserError
from jumpbench.seeding import make_generator

ARTIFACTS = "samples.pt"


class Method(LightningModule):
    """Base of all methods, trained or not.

    A run calls ``Trainer.fit`` and/or ``Trainer.test`` (its ``stages``). What the module logs in
    the test stage as ``test/<metric>`` becomes ``<metric>`` in ``metrics.json``; log
    ``test/n_samples`` too. What it puts into ``self.artifacts`` (tensors, numbers, lists, dicts)
    is saved as ``samples.pt``, readable weights-only, for figures and for runs that need this one.
    """

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.seed = seed
        self.artifacts: dict[str, Any] = {}
        self._generators: dict[str, torch.Generator] = {}
        self._generator_states: dict[str, torch.Tensor] = {}
        self._default_states: dict[str, torch.Tensor] = {}

    def generator(self, name: str) -> torch.Generator:
        """The run's generator for one component, on the module's device.

        Its state is part of the checkpoint, so a resumed run draws what the uninterrupted one
        would have drawn. Processes of a distributed run draw from different streams.
        """
        key = f"{name}/{self.global_rank}" if self._trainer is not None else f"{name}/0"
        if key not in self._generators:
            generator = make_generator(self.seed, key, device=self.device)
            if key in self._generator_states:
                generator.set_state(self._generator_states.pop(key))
            self._generators[key] = generator
        return self._generators[key]

    def on_train_start(self) -> None:
        # Dropout draws from torch's default generators; a resumed run continues their streams.
        states, self._default_states = self._default_states, {}
        if "cpu" in states:
            torch.set_rng_state(states["cpu"].cpu())
        if "cuda" in states and self.device.type == "cuda":
            torch.cuda.set_rng_state(states["cuda"].cpu(), self.device)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["generators"] = {
            **self._generator_states,
            **{key: generator.get_state() for key, generator in self._generators.items()},
        }
        checkpoint["default_generators"] = {"cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            checkpoint["default_generators"]["cuda"] = torch.cuda.get_rng_state(self.device)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self._generators.clear()
        self._generator_states = dict(checkpoint.get("generators", {}))
        self._default_states = dict(checkpoint.get("default_generators", {}))


def load_artifacts(folder: str | Path, device: torch.device | str = "cpu") -> dict[str, Any]:
    """``samples.pt`` of a finished run, such as one named under ``needs``."""
    path = Path(folder) / ARTIFACTS
    if not path.is_file():
        raise UserError(f"{path} is missing: the run that makes it has not finished; run it first")
    return torch.load(path, map_location=device, weights_only=True)
