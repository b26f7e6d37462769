"""One seed per run, derived seeds per component, explicit generators everywhere."""

import hashlib

import torch


def derive_seed(seed: int, *names: str | int) -> int:
    """Seed of a component: the first 63 bits of sha256(seed / name / ...).

    Components of one run never share a stream, and adding a component leaves the others' alone.
    Runs of one seed share those of the components whose names they share (common random numbers):
    they are compared in pairs.
    """
    text = "/".join(str(part) for part in (seed, *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def make_generator(
    seed: int, *names: str | int, device: torch.device | str = "cpu"
) -> torch.Generator:
    """Generator on ``device``, seeded by :func:`derive_seed`."""
    return torch.Generator(device=device).manual_seed(derive_seed(seed, *names))
