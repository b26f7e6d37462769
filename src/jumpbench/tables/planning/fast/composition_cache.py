"""Compositions by Hydra, kept on disk between calls.

Composing takes a tenth of a second, and the tables of all papers together need hundreds. What is
kept is the composition before any formula is resolved, which depends on nothing but the content of
the configuration files that it was made of: with a change in any of them it is made anew. It is
kept where its user alone can write, and not with the results, which several may share: a
composition decides what is called, and with which numbers.
"""

import contextlib
import functools
import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import hydra
import omegaconf
from omegaconf import DictConfig, OmegaConf

from jumpbench.errors import UserError
from jumpbench.files import write_atomic
from jumpbench.paths import cache_folder
from jumpbench.tables.planning.fast import config_files


def forget() -> None:
    """Look for the folder again."""
    _folder.cache_clear()


@functools.cache
def _folder() -> Path | None:
    return cache_folder("compositions")


def cached(
    compose: Callable[[], DictConfig], folders: Sequence[Path], name: Sequence[str]
) -> dict[str, Any]:
    """What ``compose`` gives, as plain data with formulas as written; from disk if an earlier call
    composed the same ``name`` of the same files in ``folders``.

    Nothing is kept where the user has no such folder (:func:`~jumpbench.paths.cache_folder`).
    """
    # A version of what composes, and a name, have one file.
    wanted = [hydra.__version__, omegaconf.__version__, *name]
    key = hashlib.sha256(json.dumps(wanted).encode()).hexdigest()[:16]
    folder = _folder()
    path = folder / f"{key}.json" if folder else None
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        entry: Any = json.loads(path.read_text(encoding="utf-8")) if path else None
        if (
            entry["name"] == wanted
            and isinstance(entry["config"], dict)
            and all(config_files.digest(f, folders) == d for f, d in entry["files"].items())
        ):
            return entry["config"]
    config_files.read.clear()
    raw = cast(dict[str, Any], OmegaConf.to_container(compose(), resolve=False))
    files = {file: config_files.digest(file, folders) for file in sorted(config_files.read)}
    text = json.dumps({"name": wanted, "files": files, "config": raw}, default=str)
    # Keys that are no text, and values that json has no form for, come back as something else.
    if path and json.loads(text)["config"] == raw:
        with contextlib.suppress(OSError, UserError):
            write_atomic(path, text)
    return raw
