"""Formulas of our own in configurations: ``${every_step:15}``, ``${times:2,method.steps}``."""

from omegaconf import DictConfig, OmegaConf

from jumpbench.errors import UserError


def every_step(last: int) -> list[int]:
    """The integers 0 to ``last``: a schedule that leaves no step out."""
    return list(range(int(last) + 1))


def times(factor: int, key: str, *, _root_: DictConfig) -> int:
    """A whole number of the configuration so many times: steps that follow other ones. (The key is
    plain text, since an override cannot have an interpolation within another.)"""
    count = OmegaConf.select(_root_, key)
    if not isinstance(count, int):
        raise UserError(f"${{times:{factor},{key}}}: {key} is no whole number in the configuration")
    return int(factor) * count


OmegaConf.register_new_resolver("times", times, replace=True)
OmegaConf.register_new_resolver("every_step", every_step, replace=True)
