"""What a finished run leaves for others: its artifacts, and the weights among them."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from jumpbench.errors import UserError

ARTIFACTS = "samples.pt"


def load_artifacts(folder: str | Path, device: torch.device | str = "cpu") -> dict[str, Any]:
    """``samples.pt`` of a finished run, such as one named under ``needs``.

    Raises:
        UserError: the run has not finished.
    """
    path = Path(folder) / ARTIFACTS
    if not path.is_file():
        raise UserError(f"{path} is missing: the run that makes it has not finished; run it first")
    return torch.load(path, map_location=device, weights_only=True)


def load_weights(network: nn.Module, folder: str | Path | None) -> nn.Module:
    """``network`` with the weights that the run in ``folder`` left as the artifact ``network``.

    None leaves the network as it is.

    Raises:
        UserError: the run has not finished, trained no network, or one of another shape.
    """
    if folder is None:
        return network
    weights = load_artifacts(folder).get("network")
    if weights is None:
        raise UserError(f"{folder} trained no network; name a run that trains one")
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        line = str(error).splitlines()[-1].strip()
        raise UserError(f"the weights of {folder} do not fit this network: {line}") from None
    return network
