"""Compositions by Hydra, kept on disk between calls.

Composing takes a tenth of a second, and the tables of all papers together need hundreds. What is
kept is the composition before any formula is resolved, which depends on nothing but the content of
the configuration files: a change in any of them makes all that was kept useless, and is seen.
"""

import contextlib
import functools
import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import hydra
import omegaconf
from omegaconf import DictConfig, OmegaConf

from jumpbench.errors import UserError
from jumpbench.files import write_atomic
from jumpbench.paths import outputs_root

CONTENTS = 5
"""Of so many contents of the configuration files compositions are kept."""


def kept(
    compose: Callable[[], DictConfig], roots: Sequence[Path], name: Sequence[str]
) -> dict[str, Any]:
    """What ``compose`` gives, as plain data with formulas as written; from disk if an earlier call
    composed the same ``name``.

    Nothing is written where there is no outputs folder yet, or where it cannot be written.
    """
    path = _folder(tuple(roots)) / f"{_digest(json.dumps(list(name)))}.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["name"] == list(name) and isinstance(found["config"], dict):
            return found["config"]
    raw = cast(dict[str, Any], OmegaConf.to_container(compose(), resolve=False))
    text = json.dumps({"name": list(name), "config": raw}, default=str)
    # Keys that are no text, and values that json has no form for, come back as something else.
    if json.loads(text)["config"] == raw and outputs_root().is_dir():
        with contextlib.suppress(OSError, UserError):
            if not path.parent.is_dir():
                _make_room(path.parent.parent)
            write_atomic(path, text)
    return raw


def _make_room(folder: Path) -> None:
    """Keep what is of the last few contents of the configuration files."""
    if folder.is_dir():
        oldest_first = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
        for old in oldest_first[: -(CONTENTS - 1)]:
            shutil.rmtree(old, ignore_errors=True)


def forget() -> None:
    """Look at the configuration files again."""
    _folder.cache_clear()


@functools.cache
def _folder(roots: tuple[Path, ...]) -> Path:
    """One folder for each content of the configuration files, and each version of what reads it."""
    content = hashlib.sha256(f"{hydra.__version__} {omegaconf.__version__}".encode())
    for root in roots:
        for file in sorted(root.rglob("*.yaml")):
            content.update(f"\n{root} {file.relative_to(root)}\n".encode())
            content.update(file.read_bytes())
    return outputs_root() / ".composed" / content.hexdigest()[:16]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
