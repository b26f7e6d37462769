"""Where runs are made: one interface, one implementation per place."""

import contextlib
import dataclasses
import importlib
import importlib.util
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import yaml

from jumpbench.errors import UserError
from jumpbench.names import no_such
from jumpbench.tables.planning.run import Run

# name: (module, class, package that it needs)
_LAUNCHERS = {
    "serial": ("jumpbench.tables.launchers.serial", "Serial", None),
    "ray": ("jumpbench.tables.launchers.ray", "Ray", "ray"),
    "slurm": ("jumpbench.tables.launchers.slurm", "Slurm", "submitit"),
}
_OPTION = "launcher."


class Events(Protocol):
    """What a launcher reports while it works; all of it may be ignored."""

    def started(self, run: Run) -> None: ...
    def progress(
        self, run: Run, stage: str, done: float, total: int | None, watched: str = ""
    ) -> None: ...
    def finished(self, run: Run) -> None: ...
    def failed(self, run: Run, message: str) -> None: ...
    def waiting(self, run: Run) -> None: ...
    def noted(self, run: Run, message: str) -> None: ...
    def message(self, text: str) -> None: ...


# run hash -> {"table": ..., "row": ..., "column": ..., "scale": ...}
Labels = Mapping[str, dict[str, Any]]


class Launcher(Protocol):
    """Makes runs that are not made yet.

    ``runs`` come in an order in which every run stands behind its needs. A launcher returns when
    each of them is finished or has failed, or is queued on a cluster that goes on by itself; one
    failure never stops the others, and a run that another process is making is waited for, not
    made twice. ``labels`` go to experiment loggers. Its fields are its options.
    """

    def launch(self, runs: Sequence[Run], events: Events, labels: Labels) -> None: ...


def launcher(name: str, options: Sequence[str] = ()) -> Launcher:
    """The launcher of that name, with its options (``launcher.KEY=VALUE``).

    Raises:
        UserError: unknown, an option that it does not have or of another type, or a package that
            it needs is missing.
    """
    if name not in _LAUNCHERS:
        raise no_such("launcher", name, _LAUNCHERS)
    module, kind, package = _LAUNCHERS[name]
    if package and importlib.util.find_spec(package) is None:
        raise UserError(f"launcher={name} needs the package {package}: pip install -e '.[{name}]'")
    cls = getattr(importlib.import_module(module), kind)
    return cls(**options_of(name, cls, options))


def options_of(name: str, cls: type, words: Sequence[str]) -> dict[str, Any]:
    """Values of a launcher's fields; one that is a mapping takes ``launcher.FIELD.KEY=VALUE``."""
    kinds = typing.get_type_hints(cls) if dataclasses.is_dataclass(cls) else {}
    options: dict[str, Any] = {}
    for override in words:
        key, _, text = override.removeprefix(_OPTION).partition("=")
        key, _, below = key.partition(".")
        if key not in kinds:
            if not kinds:
                raise UserError(
                    f"{override}: launcher={name} has no options; add launcher=ray or "
                    "launcher=slurm, or leave it out"
                )
            raise no_such(f"option of launcher={name}", key, kinds)
        if typing.get_origin(kinds[key]) is dict:
            if not below:
                raise UserError(f"launcher.{key}: give launcher.{key}.NAME=VALUE")
            options.setdefault(key, {})[below] = text
        else:
            options[key] = _value(f"launcher.{key}", text, kinds[key])
    return options


def _value(name: str, text: str, kind: Any) -> Any:
    allowed = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if str in allowed:
        return text
    with contextlib.suppress(yaml.YAMLError):
        value = yaml.safe_load(text)
        if type(value) in allowed or (float in allowed and type(value) is int):
            return value
    words = {bool: "true or false", int: "a whole number", float: "a number"}
    raise UserError(f"{name}={text[:40]}: give {next(words[k] for k in allowed if k in words)}")


def check_least(place: Launcher, **least: int) -> None:
    """Refuses options of a launcher below what each may be; one that is None is not given.

    Raises:
        UserError: the first of them.
    """
    for name, smallest in least.items():
        value = getattr(place, name)
        if value is not None and value < smallest:
            raise UserError(f"launcher.{name}={value}: give {smallest} or more")
