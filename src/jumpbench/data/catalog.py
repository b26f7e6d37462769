"""Every real dataset the suite can use: what it is, where it comes from, how it is verified.

Listing costs nothing (no torch import); verifying reads the files, and fetches what is absent.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from jumpbench.paths import data_root


@dataclass(frozen=True)
class Dataset:
    """A dataset as ``jumpbench data`` lists it.

    ``files`` are names inside ``<root>/<name>/`` (any may be compressed); ``verifier`` is
    ``module:function``, a function of ``root`` that returns one line saying what was verified and
    raises :class:`~jumpbench.errors.DataMissing` or :class:`~jumpbench.errors.DataCorrupt`.
    """

    name: str
    about: str
    files: tuple[str, ...]
    source: str
    licence: str
    used_by: tuple[str, ...]
    verifier: str

    def present(self, root: str | Path | None = None) -> bool:
        """Whether anything of the dataset lies under the root (nothing is read or verified)."""
        folder = data_root(root) / self.name
        return folder.is_dir() and any(folder.iterdir())

    def verify(self, root: str | Path | None = None) -> str:
        """Read and check every file, downloading absent ones where that is possible."""
        module, function = self.verifier.split(":")
        check: Callable[[str | Path | None], str] = getattr(import_module(module), function)
        return check(root)


@cache
def datasets() -> dict[str, Dataset]:
    """All datasets by name, the names that table files use under ``data:``: ``catalog.yaml``."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    entries: dict[str, dict[str, Any]] = yaml.safe_load(text)
    for entry in entries.values():
        entry |= {"files": tuple(entry["files"]), "used_by": tuple(entry["used_by"])}
    return {name: Dataset(name, **entry) for name, entry in entries.items()}
