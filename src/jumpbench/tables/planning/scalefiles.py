"""``scale=PAPER/METHOD/SCALE`` among overrides: one of the scales in ``conf/scale/PAPER.yaml``.

A miniature changes many things at once; the file states them for each method of the paper as
configuration does, each scale under its name, and they apply at the place where they are named (so
a row's own overrides after it still win, which they would not over a Hydra group)::

    sampler:
      smoke:
        trainer: {max_steps: 6}
      small:
        defaults:
          - override /network: state_perceptron   # another choice of a group that there is
          - /regime: dasbs/ising_low              # a group that the experiment does not have
        target: {size: 4}
        ~method.solver.seconds: null              # leave a key out; +key adds one
"""

import functools
import json
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
    """Overrides with every ``scale=PAPER/METHOD/SCALE`` replaced by what its file says.

    Raises:
        UserError: no such scale, or its file is not what the module's docstring describes.
    """
    result: list[str] = []
    for override in overrides:
        named = scale_file(override)
        stated = () if named is None else _from_file(*named)
        result += [override] if named is None else [Stated(text, override) for text in stated]
    return result


class Stated(str):
    """An override of a scale, which remembers the ``scale=`` that it stands for."""

    scale: str

    def __new__(cls, text: str, scale: str = "") -> "Stated":
        made = super().__new__(cls, text)
        made.scale = scale
        return made

    def misfit(self, experiment: str, error: UserError) -> UserError:
        """What to say where an experiment has no place for it: its own scale of that name, or
        what is wrong."""
        own = f"{experiment}/{self.scale.rpartition('/')[2]}"
        if own in scales_of(experiment.partition("/")[0]) and self.scale != _PREFIX + own:
            why = f"it does not fit ({self}); did you mean '{_PREFIX}{own}'?"
        else:
            why = str(error).removeprefix(f"experiment {experiment}: ")
        return UserError(f"experiment {experiment}: {self.scale}: {why}")


def scale_file(override: str) -> tuple[Path, tuple[str, str]] | None:
    """The file, and method and scale in it, that an override names; None of any other override.

    Raises:
        UserError: there is no such scale.
    """
    if not override.startswith(_PREFIX):
        return None
    wanted = override.removeprefix(_PREFIX)
    paper, _, inside = wanted.partition("/")
    files = _files()
    if (path := files.get(paper)) is None:
        raise no_such("file of conf/scale", paper, sorted(files))
    scales = _scales(path, path.stat().st_mtime_ns)
    method, _, scale = inside.partition("/")
    if (method, scale) in scales:
        return path, (method, scale)
    of_method = [s for m, s in scales if m == method]
    if not scale and of_method:
        known = ", ".join(of_method)
        raise UserError(f"which scale of {wanted}? scale={wanted}/SCALE with one of {known}")
    raise no_such("scale", wanted, scales_of(paper))


def _files() -> dict[str, Path]:
    return {f.stem: f for root in reversed(conf_dirs()) for f in (root / "scale").glob("*.yaml")}


def scales_of(paper: str) -> list[str]:
    """PAPER/METHOD/SCALE of each scale of a paper."""
    path = _files().get(paper)
    scales = _scales(path, path.stat().st_mtime_ns) if path else ()
    return [f"{paper}/{method}/{scale}" for method, scale in scales]


@functools.cache
def _scales(path: Path, changed: int) -> dict[tuple[str, str], dict[Any, Any]]:
    """What a file says under each method and scale."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        line = str(error).splitlines()[0]
        raise UserError(f"{path}: not valid YAML: {line}") from None
    scales: dict[tuple[str, str], dict[Any, Any]] = {}
    for method, of_method in content.items() if isinstance(content, dict) else [("", None)]:
        if not isinstance(of_method, dict) or not all(map(_is_dict, of_method.values())):
            raise UserError(
                f"{path}: a scale file is a mapping of methods, each of scales, each of keys"
            )
        scales |= {(str(method), str(scale)): keys for scale, keys in of_method.items()}
    return scales


def _is_dict(value: Any) -> bool:
    return isinstance(value, dict)


def _from_file(path: Path, names: tuple[str, str]) -> tuple[str, ...]:
    return _overrides(path, names, path.stat().st_mtime_ns)


@functools.cache
def _overrides(path: Path, names: tuple[str, str], changed: int) -> tuple[str, ...]:
    content = dict(_scales(path, changed)[names])
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
