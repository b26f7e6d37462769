"""Formulas of our own in configurations: ``${every_step:15}``."""

from omegaconf import OmegaConf


def every_step(last: int) -> list[int]:
    """The integers 0 to ``last``: a schedule that leaves no step out."""
    return list(range(int(last) + 1))


OmegaConf.register_new_resolver("every_step", every_step, replace=True)
