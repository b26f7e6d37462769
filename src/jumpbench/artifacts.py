"""What a finished run leaves for others: its artifacts, and the weights among them.

Where weights are wanted alone, the ``.safetensors`` file of a model stands for a run's folder.
"""

import hashlib
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from jumpbench.errors import DataCorrupt, DataMissing, UserError
from jumpbench.paths import CHECKPOINTS, LAST_CHECKPOINT, SAMPLES

_MODEL = ".safetensors"

Network = TypeVar("Network", bound=nn.Module)


def load_artifacts(folder: str | Path, device: torch.device | str = "cpu") -> dict[str, Any]:
    """``samples.pt`` of a finished run, such as one named under ``needs``.

    Raises:
        UserError: the run has not finished.
    """
    path = Path(folder) / SAMPLES
    if not path.is_file():
        raise UserError(f"{path} is missing: the run that makes it has not finished; run it first")
    return torch.load(path, map_location=device, weights_only=True)


def trained_weights(
    folder: str | Path, part: str = "", device: torch.device | str = "cpu"
) -> dict[str, Any]:
    """State dict of the method that a finished run trained, averaged where it averages.

    Args:
        folder: of the run.
        part: of the method, such as ``energy``: its weights alone, without the prefix.
        device: where the weights are put.

    Raises:
        UserError: the run has no checkpoint, or its method no such part.
        DataCorrupt: the checkpoint cannot be read.
    """
    path = weights_file(Path(folder))
    if not path.is_file():
        raise UserError(f"{path} is missing: finish the run that trains these weights first")
    weights = read_weights(path, device)
    return submodule_weights(weights, part, path) if part else weights


def weights_file(place: Path) -> Path:
    """The last checkpoint of the run in a folder; of a model, its file."""
    return place if place.suffix == _MODEL else place / CHECKPOINTS / LAST_CHECKPOINT


def submodule_weights(
    weights: dict[str, Any], part: str, place: str | Path = "the state dict"
) -> dict[str, Any]:
    """The entries of a state dict that belong to the submodule ``part``, without the prefix.

    Raises:
        UserError: there are none.
    """
    prefix = f"{part}."
    own = {name.removeprefix(prefix): w for name, w in weights.items() if name.startswith(prefix)}
    if not own:
        raise UserError(f"{place} has no '{part}'; name a run of a method that trains one")
    return own


def load_weights(network: Network, folder: str | Path | None, part: str | None = None) -> Network:
    """``network`` with the weights of the run in ``folder``; None leaves it as it is.

    Args:
        network: takes the weights in place.
        folder: of a finished run, or a model's file.
        part: of the run's method, read from its last checkpoint. Without it, the weights are the
            artifact ``network``, which a run leaves that trains or tests one network for others.

    Raises:
        UserError: the run has not finished, trained no such network, or one of another shape.
        DataCorrupt: its checkpoint cannot be read.
    """
    if folder is None:
        return network
    if part is not None or Path(folder).suffix == _MODEL:
        return _loaded(network, trained_weights(folder, part or "network"), folder)
    weights = load_artifacts(folder).get("network")
    if weights is None:
        raise UserError(f"{folder} trained no network; name a run that trains one")
    return _loaded(network, weights, folder)


def with_weights(network: nn.Module, file: str | Path, sha256: str, prefix: str = "") -> nn.Module:
    """``network`` with released weights: a state dict, alone or as ``state_dict`` of a checkpoint.

    A configuration puts it where a network stands, so that a run tests what others have trained:

        network: {_target_: jumpbench.artifacts.with_weights, network: ${oracle}, file: ..., ...}

    Args:
        file: of torch, or ``.safetensors``; read weights-only, after its checksum.
        sha256: of the file, as hexadecimal digits.
        prefix: of the names that belong to the network; others are left out.

    Raises:
        DataMissing: there is no such file.
        DataCorrupt: its checksum is another one, or it cannot be read.
        UserError: weights of another shape.
    """
    path = Path(file)
    if not path.is_file():
        raise DataMissing(f"{path.absolute()}: there are no such weights")
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != sha256.lower():
        raise DataCorrupt(f"{path} has the checksum {found}, not {sha256}: fetch it again")
    weights = read_weights(path, "cpu")
    own = {name[len(prefix) :]: value for name, value in weights.items() if name.startswith(prefix)}
    return _loaded(network, own, path)


def _loaded(network: Network, weights: dict[str, Any], place: str | Path) -> Network:
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        line = str(error).splitlines()[-1].strip()
        raise UserError(f"the weights of {place} do not fit this network: {line}") from None
    return network


def read_weights(path: Path, device: torch.device | str = "cpu") -> dict[str, Any]:
    """A state dict, of torch (weights-only) or ``.safetensors``.

    Raises:
        DataCorrupt: it cannot be read.
    """
    from safetensors.torch import load_file

    try:
        if path.suffix == _MODEL:
            return load_file(path)
        content = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:  # whatever a pickle that is none, or more than weights, makes of it
        line = str(error).strip().splitlines()[0][:200]
        raise DataCorrupt(f"{path} holds no weights: {line}") from None
    return dict(content.get("state_dict", content))
