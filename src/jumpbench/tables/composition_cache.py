"""Compositions by Hydra, kept on disk between calls.

Composing takes a tenth of a second, and the tables of all papers together need hundreds. What is
kept is the composition before any formula is resolved, which depends on nothing but the content of
the configuration files that it was made of: with a change in any of them it is made anew.
"""

import contextlib
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
from jumpbench.paths import outputs_root
from jumpbench.tables import config_files


def kept(
    compose: Callable[[], DictConfig], folders: Sequence[Path], name: Sequence[str]
) -> dict[str, Any]:
    """What ``compose`` gives, as plain data with formulas as written; from disk if an earlier call
    composed the same ``name`` of the same files in ``folders``.

    Nothing is written where there is no outputs folder yet, or where it cannot be written.
    """
    # A version of what composes, and a name, have one file.
    wanted = [hydra.__version__, omegaconf.__version__, *name]
    key = hashlib.sha256(json.dumps(wanted).encode()).hexdigest()[:16]
    path = outputs_root() / ".composed" / f"{key}.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        found = json.loads(path.read_text(encoding="utf-8"))
        if (
            found["name"] == wanted
            and isinstance(found["config"], dict)
            and all(config_files.digest(f, folders) == d for f, d in found["files"].items())
        ):
            return found["config"]
    config_files.read.clear()
    raw = cast(dict[str, Any], OmegaConf.to_container(compose(), resolve=False))
    files = {file: config_files.digest(file, folders) for file in sorted(config_files.read)}
    text = json.dumps({"name": wanted, "files": files, "config": raw}, default=str)
    # Keys that are no text, and values that json has no form for, come back as something else.
    if json.loads(text)["config"] == raw and outputs_root().is_dir():
        with contextlib.suppress(OSError, UserError):
            write_atomic(path, text)
    return raw
