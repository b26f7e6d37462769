"""Files of run folders: whole or absent, and one clear line where they are damaged."""

import contextlib
import json
import math
import os
import re
from pathlib import Path
from typing import Any

import yaml

from jumpbench.errors import UserError
from jumpbench.files import write_atomic
from jumpbench.paths import outputs_root
from jumpbench.tables.runs import CONFIG, METRICS


def write_json(path: Path, value: Any) -> None:
    write_atomic(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path, remedy: str) -> Any:
    """Parsed json, or one line that names the damaged file and the remedy."""
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe would be waited for
        raise UserError(f"{path} is damaged (not a regular file); {remedy}")
    try:
        text = path.read_text(encoding="utf-8")
        value = json.loads(text)
        if "\\ud" in text.lower():  # half a letter, which no file can hold
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except (ValueError, RecursionError):
        raise UserError(f"{path} is damaged (not whole json); {remedy}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None


# libyaml's is ten times as fast; both build plain values only.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Dumper(yaml.SafeDumper):
    """As OmegaConf writes plain values; but a text that looks like a formula is one text more."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    """Quoted where another reader of YAML would see a number (1e5) or a flag (n)."""
    quoted = value in ("y", "Y", "n", "N")
    with contextlib.suppress(ValueError):
        float(value)
        quoted = True
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="'" if quoted else None)


_Dumper.add_representer(str, _text)


def write_config(folder: Path, config: dict[str, Any]) -> None:
    """``config.yaml`` of a run: plain values, in which nothing is a formula."""
    text = yaml.dump(
        config, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, sort_keys=False
    )
    write_atomic(folder / CONFIG, text)


def read_config(folder: Path) -> dict[str, Any]:
    """What :func:`write_config` wrote.

    Raises:
        UserError: there is none, or it is damaged.
    """
    path = folder / CONFIG
    try:
        config = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)
        json.dumps(config, default=str)  # a mapping may contain itself
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; plan the run first") from None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        config = None
    if not isinstance(config, dict):
        raise UserError(f"{path} is damaged (not a whole configuration); run it again") from None
    return {str(key): value for key, value in config.items()}


_OTHERS = "ask its owner to let you, or set JUMPBENCH_OUTPUTS to a folder of your own"


def read_metrics(folder: Path) -> dict[str, Any] | None:
    """The record of a finished run, or None if it has not finished.

    Raises:
        UserError: the file is there and is not what a finished run writes.
    """
    path = folder / METRICS
    try:
        if not path.exists():
            return None
    except OSError as error:  # a folder of somebody else
        raise UserError(f"cannot read {path}: {error.strerror}; {_OTHERS}") from None
    if not path.is_file():
        raise UserError(f"{path} is no file; remove it and call again")
    remedy = "delete it and call again, and the run is made anew from its last checkpoint"
    record = read_json(path, remedy)
    if not isinstance(record, dict) or not isinstance(record.get("metrics"), dict):
        raise UserError(f"{path} is damaged (no metrics in it); {remedy}")
    if (owner := record.get("run", run_hash(folder))) != run_hash(folder):
        raise UserError(f"{path} belongs to another run ({owner}); {remedy}")
    return record


_RUN_ID = re.compile(r"(?!\.)[^/\\\0]+/(?!\.)[^/\\\0]+")


def is_finished(folder: Path) -> bool:
    """Whether a run has its numbers; not where their file is damaged."""
    try:
        return read_metrics(folder) is not None
    except UserError:
        return False


def is_run_id(text: Any) -> bool:
    """Whether a text is ``SLUG/NAME-HASH``, and no way to another folder."""
    return isinstance(text, str) and _RUN_ID.fullmatch(text) is not None


def run_folder(run: Any) -> Path:
    """The folder of a run by its id.

    Raises:
        UserError: that is no id of a run.
    """
    if not is_run_id(run):
        raise UserError(f"{str(run)[:60]!r} is no run (SLUG/NAME-HASH)")
    return outputs_root() / "runs" / run


def run_hash(folder: Path) -> str:
    """The hash of the run whose folder this is (``NAME-HASH``)."""
    return folder.name.rsplit("-", 1)[-1]


def plain(value: Any) -> float | str:
    """A metric as json holds it: non-finite numbers, which json lacks, become words."""
    number = float(value)
    return number if math.isfinite(number) else str(number)
