"""Commits that change how a file computes and no number that it gives.

``reproduce/same_numbers.yaml`` of a checkout lists them, oldest first, each with the test that
shows it; runs that were made before them are not older than their code.
"""

import functools
import re
from pathlib import Path
from typing import Any

import yaml

from jumpbench.errors import UserError

FILE = "reproduce/same_numbers.yaml"
KEYS = {"commit", "what", "test"}


def same_numbers(root: Path) -> tuple[str, ...]:
    """Hashes of the listed commits, oldest first."""
    return tuple(entry["commit"] for entry in entries(root))


@functools.cache
def entries(root: Path) -> tuple[dict[str, Any], ...]:
    """The list: ``commit`` (seven digits of its hash or more), ``what`` it changes, and the
    ``test`` (a pytest name) that shows that numbers stay.

    Raises:
        UserError: an entry has other keys, or its commit is no hash.
    """
    path = root / FILE
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    try:
        listed = yaml.safe_load(text) or []
    except yaml.YAMLError as error:
        raise UserError(f"{FILE} is no YAML: {error}") from None
    for entry in listed:
        known = isinstance(entry, dict) and set(entry) == KEYS
        if not known or not re.fullmatch("[0-9a-f]{7,40}", str(entry["commit"])):
            raise UserError(f"{FILE}: an entry has commit (a hash, quoted), what and test: {entry}")
    return tuple(listed)
