"""Overrides of a command line or a table file, in Hydra's grammar."""

import functools
import os

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from jumpbench.errors import UserError
from jumpbench.paths import conf_dirs
from jumpbench.tables.planning.fast.values import explained

FAILURES = (HydraException, OmegaConfBaseException, ValueError, AssertionError)
"""What Hydra and OmegaConf raise at what a person wrote."""


@functools.cache
def _parse(text: str) -> Override:
    return OverridesParser.create().parse_override(text)


def parsed_override(experiment: str, text: str) -> Override:
    """One override in Hydra's grammar.

    Raises:
        UserError: it is none.
    """
    try:
        return _parse(text)
    except FAILURES as error:
        raise UserError(f"experiment {experiment}: {text[:80]}: {explained(error)}") from None


def of_one_value(experiment: str, text: str) -> Override:
    """:func:`parsed_override`, of one value.

    Raises:
        UserError: it is none, or a sweep over several values.
    """
    override = parsed_override(experiment, text)
    if override.is_sweep_override():
        key, _, values = text.partition("=")
        raise UserError(
            f"experiment {experiment}: {text[:80]}: a run has one value; "
            f"if a list is meant, write {key}=[{values}]"
        )
    return override


@functools.cache
def _is_group(name: str) -> bool:
    return any(os.path.isdir(root / name) for root in conf_dirs())


def chooses_group(override: Override) -> bool:
    """Whether an override is part of the composition, and no value set in its result."""
    return override.package is not None or _is_group(override.key_or_group)


def forget() -> None:
    """Look for groups anew."""
    _is_group.cache_clear()
