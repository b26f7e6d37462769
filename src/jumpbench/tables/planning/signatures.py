"""Whether what a configuration constructs takes what it is given, before anything is made."""

import contextlib
import difflib
import inspect
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.planning import defaults
from jumpbench.tables.planning.constructors import GETTERS, targets
from jumpbench.tables.planning.gate import called, permitted

_SIMPLE = (bool, int, float, str)


def check_signatures(config: Mapping[str, Any]) -> None:
    """Refuses what a run constructs if it does not exist or does not take its arguments.

    Imports the classes (and so torch), constructs nothing.

    Raises:
        UserError: a class that cannot be imported, or that no configuration may call; an argument
            that is unknown, missing, or of another type than its annotation says.
    """
    parts = {k: config.get(k) for k in ("data", "method", "evaluation", "trainer", "logger")}
    # What is null for the trainer is left to Lightning.
    parts["trainer"] = {k: v for k, v in dict(config["trainer"]).items() if v is not None}
    for place, node in targets(parts):
        function = called(node, place)
        if node["_target_"] not in GETTERS:
            _check_call(function, place, node)


def check_files(config: Mapping[str, Any]) -> None:
    """Refuses a run whose published files are not here: asks the classes that have a method
    ``check_files``, with the node's plain values.

    Raises:
        DataMissing: one is not here, and cannot be fetched.
    """
    for place, node in targets(config.get("method")):
        if check := getattr(called(node, place), "check_files", None):
            check(**{k: v for k, v in node.items() if not k.startswith("_")})


def arguments_of(node: Any) -> frozenset[str]:
    """Names of the arguments of what a node constructs (imports what has no source that could be
    read, or lies in a library); empty if unknown."""
    name = str(node.get("_target_", "")) if isinstance(node, Mapping) else ""
    if (known := defaults.arguments(name)) is not None:
        return frozenset(known)
    if name and name not in GETTERS:
        with contextlib.suppress(UserError, TypeError, ValueError):
            return frozenset(_arguments(permitted(name))[0])
    return frozenset()


def takes(name: str, argument: str) -> bool | None:
    """Whether the class of that name has an argument (imports it); None if that is unknown."""
    with contextlib.suppress(UserError, TypeError, ValueError):
        known, others = _arguments(permitted(name))
        return others or argument in known
    return None


def _arguments(function: Any) -> tuple[dict[str, inspect.Parameter], bool]:
    """Arguments by name, and whether any other is taken too.

    What a class takes as ``**kwargs`` is looked up in the class above it, and so on.
    """
    known: dict[str, inspect.Parameter] = {}
    for constructor in _constructors(function):
        parameters = inspect.signature(constructor).parameters.values()
        known |= {p.name: p for p in parameters if p.kind in _NAMED and p.name not in known}
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            return {name: p for name, p in known.items() if name != "self"}, False
    return {name: p for name, p in known.items() if name != "self"}, True


_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _constructors(called: Any) -> list[Any]:
    if not inspect.isclass(called):
        return [called]
    own = [c.__dict__["__init__"] for c in called.__mro__[:-1] if "__init__" in c.__dict__]
    return own or [called]


def _check_call(called: Any, place: str, node: Mapping[str, Any]) -> None:
    arguments = {str(k): v for k, v in node.items() if not (k[0] == "_" and k[-1] == "_")}
    try:
        parameters = inspect.signature(called).parameters
    except (TypeError, ValueError):  # built in C
        return
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    named = {n for n, p in parameters.items() if p.kind in _NAMED}
    name = getattr(called, "__name__", str(called))
    for key in arguments:
        if key not in named and not takes_all:
            near = difflib.get_close_matches(key, named, n=1, cutoff=0.5)
            hint = (
                f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(sorted(named))}"
            )
            raise UserError(f"{place}.{key}: {name} has no argument '{key}'; {hint}")
    if not node.get("_partial_") and not node.get("_args_") and not takes_all:
        required = {n for n in named if parameters[n].default is inspect.Parameter.empty}
        later = _given_later(place)
        if lacking := sorted(required - set(arguments) - later):
            raise UserError(f"{place}: {name} needs {', '.join(lacking)}")
    hints = _hints(called)
    for key, value in arguments.items():
        if key in hints and not _fits(value, hints[key]):
            default = parameters[key].default if key in parameters else None
            if value is None and default is None:
                continue
            raise UserError(
                f"{place}.{key}={value!r}: {name} takes {_words(hints[key])} for '{key}'"
            )


def _given_later(place: str) -> set[str]:
    """Arguments that the suite adds when it constructs the node."""
    ours = place == "trainer" or place.split(".")[0] == "logger"
    return {"callbacks", "logger", "save_dir", "id"} if ours else set()


def _hints(called: Any) -> dict[str, Any]:
    function = called.__init__ if inspect.isclass(called) else called
    try:
        return typing.get_type_hints(function)
    except Exception:  # names that only a type checker can see
        return {}


def _fits(value: Any, hint: Any) -> bool:
    """Whether a plain value fits an annotation; True wherever that is not clear."""
    if isinstance(value, Mapping) and "_target_" in value:
        return True
    if hint is Any or isinstance(hint, (str, typing.TypeVar)):
        return True
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in arguments)
    if origin is typing.Literal:
        return value in arguments
    if hint is type(None) or hint is None:
        return value is None
    if value is None:
        return hint not in _SIMPLE
    if hint is bool:
        return isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is str:
        return isinstance(value, str)
    if origin in (list, Sequence, typing.get_origin(Sequence[int])) and arguments:
        return isinstance(value, (list, tuple)) and all(_fits(v, arguments[0]) for v in value)
    return True


def _words(hint: Any) -> str:
    known = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    if hint in known:
        return known[hint]
    text = getattr(hint, "__name__", None) if inspect.isclass(hint) else None
    return (text or str(hint)).replace("typing.", "").replace("collections.abc.", "")
