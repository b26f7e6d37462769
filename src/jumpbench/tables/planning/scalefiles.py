"""``scale=SLUG/NAME`` among the overrides of a table file: a group file of ``conf/scale``.

A miniature changes many things at once; ``conf/scale/SLUG/NAME.yaml`` states them as configuration
does, instead of a list of strings, and applies at the place where it is named (so a row's own
overrides after it still win, which they would not over a Hydra group)::

    defaults:
      - override /network: state_perceptron     # another choice of a group that there is
      - /regime: dasbs/ising_low                # a group that the experiment does not have
    target: {size: 4}
    trainer: {max_steps: 3750}
    ~method.solver.seconds: null                # leave a key out; +key adds one
"""

import functools
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from jumpbench.errors import UserError
from jumpbench.names import no_such
from jumpbench.paths import conf_dirs

_PREFIX = "scale="
_BARE = re.compile(r"[A-Za-z_][\w./-]*")
_GROUP = re.compile(r"(override )?/?([\w/@.]+)")


def expanded(overrides: Iterable[str]) -> list[str]:
    """Overrides with every ``scale=NAME`` replaced by what its file says.

    Raises:
        UserError: no such file, or it is not what the module's docstring describes.
    """
    result: list[str] = []
    for override in overrides:
        if override.startswith(_PREFIX):
            result += _from_file(_located(override.removeprefix(_PREFIX)))
        else:
            result.append(override)
    return result


def scale_file(override: str) -> Path | None:
    """The file that an override names (``scale=NAME``); None of any other override."""
    return _located(override.removeprefix(_PREFIX)) if override.startswith(_PREFIX) else None


def _located(name: str) -> Path:
    folders = [folder / "scale" for folder in conf_dirs()]
    for folder in folders:
        path = folder / f"{name}.yaml"
        if os.path.isfile(path) and path.resolve().is_relative_to(folder):
            return path
    known = [str(p.relative_to(f).with_suffix("")) for f in folders for p in f.rglob("*.yaml")]
    raise no_such("file of conf/scale", name, sorted(known))


@functools.cache
def _read(path: Path, changed: int) -> tuple[str, ...]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        line = str(error).splitlines()[0]
        raise UserError(f"{path}: not valid YAML: {line}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: a scale file is a mapping of configuration keys")
    choices = content.pop("defaults", None) or []
    try:
        return (*_choices(choices, path), *_flat(content, "", path))
    except RecursionError:
        raise UserError(f"{path}: a value contains itself (an alias)") from None


def _from_file(path: Path) -> tuple[str, ...]:
    return _read(path, path.stat().st_mtime_ns)


def _choices(entries: Any, path: Path) -> Iterator[str]:
    for entry in entries if isinstance(entries, list) else [entries]:
        single = isinstance(entry, dict) and len(entry) == 1
        ((key, choice),) = entry.items() if single else [("", None)]
        group = _GROUP.fullmatch(str(key))
        if group is None or not isinstance(choice, str):
            raise UserError(f"{path}: defaults: {entry!r} is not 'override /GROUP: CHOICE'")
        yield f"{'' if group[1] else '+'}{group[2]}={choice}"


def _flat(content: Mapping[str, Any], above: str, path: Path) -> Iterator[str]:
    for key, value in content.items():
        if not isinstance(key, str):
            raise UserError(f"{path}: the key {key!r} must be text")
        bare = key.lstrip("+~")
        place = key[: len(key) - len(bare)] + above + bare
        if place.startswith("~"):
            yield place
        elif isinstance(value, dict) and value and not place.startswith("+"):
            yield from _flat(value, f"{above}{bare}.", path)
        else:
            yield f"{place}={spelled(value)}"


def spelled(value: Any) -> str:
    """A plain value in the grammar of Hydra's overrides."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {spelled(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(spelled, value)) + "]"
    if isinstance(value, str):
        words = ("null", "true", "false", "nan", "inf")
        if value.startswith("${") or (_BARE.fullmatch(value) and value.lower() not in words):
            return value
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return json.dumps(value)  # null, true, 3, 0.1
