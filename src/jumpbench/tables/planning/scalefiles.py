"""``scale=PAPER/NAME/SCALE`` among overrides: one of the scales of a file of ``conf/scale``.

A miniature changes many things at once; ``conf/scale/PAPER/NAME.yaml`` states them for one method
as configuration does, each scale under its name, and applies at the place where it is named (so a
row's own overrides after it still win, which they would not over a Hydra group)::

    smoke:
      trainer: {max_steps: 6}
    small:
      defaults:
        - override /network: state_perceptron     # another choice of a group that there is
        - /regime: dasbs/ising_low                # a group that the experiment does not have
      target: {size: 4}
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
    """Overrides with every ``scale=PAPER/NAME/SCALE`` replaced by what its file says.

    Raises:
        UserError: no such scale, or its file is not what the module's docstring describes.
    """
    result: list[str] = []
    for override in overrides:
        named = scale_file(override)
        result += [override] if named is None else _from_file(*named)
    return result


def scale_file(override: str) -> tuple[Path, str] | None:
    """The file and the scale in it that an override names; None of any other override.

    Raises:
        UserError: there is no such scale.
    """
    if not override.startswith(_PREFIX):
        return None
    wanted = override.removeprefix(_PREFIX)
    name, _, scale = wanted.rpartition("/")
    folders = [folder / "scale" for folder in conf_dirs()]
    for folder in folders:
        path = folder / f"{name}.yaml"
        if name and os.path.isfile(path) and path.resolve().is_relative_to(folder):
            if scale in (scales := _scales(path, path.stat().st_mtime_ns)):
                return path, scale
            raise no_such("scale", wanted, [f"{name}/{each}" for each in scales])
    files = {str(p.relative_to(f).with_suffix("")): p for f in folders for p in f.rglob("*.yaml")}
    if wanted in files:
        scales = ", ".join(_scales(files[wanted], files[wanted].stat().st_mtime_ns))
        raise UserError(f"which scale of {wanted}? scale={wanted}/SCALE with one of {scales}")
    raise no_such("file of conf/scale", name or wanted, sorted(files))


@functools.cache
def _scales(path: Path, changed: int) -> dict[str, Any]:
    """The scales of a file by their names."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        line = str(error).splitlines()[0]
        raise UserError(f"{path}: not valid YAML: {line}") from None
    if not isinstance(content, dict) or not all(isinstance(v, dict) for v in content.values()):
        raise UserError(f"{path}: a scale file is a mapping of scales, each of configuration keys")
    return {str(scale): keys for scale, keys in content.items()}


def _from_file(path: Path, scale: str) -> tuple[str, ...]:
    return _overrides(path, scale, path.stat().st_mtime_ns)


@functools.cache
def _overrides(path: Path, scale: str, changed: int) -> tuple[str, ...]:
    content = dict(_scales(path, changed)[scale])
    choices = content.pop("defaults", None) or []
    try:
        return (*_choices(choices, path), *_flat(content, "", path))
    except RecursionError:
        raise UserError(f"{path}: a value contains itself (an alias)") from None


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
