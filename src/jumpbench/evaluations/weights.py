"""Weights that another run has trained, put into a network of the same shape."""

from pathlib import Path

import torch
from torch import nn

from jumpbench.errors import UserError

ARTIFACTS = "samples.pt"


def trained(network: nn.Module, folder: str | Path) -> nn.Module:
    """``network`` with the weights of a run (its artifact ``network``), frozen, in evaluation mode.

    Raises:
        UserError: the run has no such weights, or they do not fit.
    """
    path = Path(folder) / ARTIFACTS
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise UserError(f"{path} is missing: the run that makes it has not finished") from None
    if "network" not in saved:
        raise UserError(f"{folder} trained no network; name a run of one that does")
    try:
        network.load_state_dict(saved["network"])
    except RuntimeError as error:
        line = str(error).splitlines()[-1].strip()
        raise UserError(f"the weights of {folder} do not fit this network: {line}") from None
    return network.requires_grad_(False).eval()
