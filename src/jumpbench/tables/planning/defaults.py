"""Defaults of what a configuration constructs, read from the source: planning imports nothing.

A run's identity is taken from its configuration completed by these, so that a default which is
written down changes no identity, and a changed default changes it. Literals and constants of
modules have values, a class or a function is the node that names it, and any other default
(``partial(AdamW, lr=1e-3)``) enters as its source text. Classes
of libraries are left as they are written.
"""

import ast
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jumpbench.tables.planning import sources
from jumpbench.tables.planning.constructors import LIBRARIES, is_allowed
from jumpbench.tables.planning.sources import (
    Definition,
    Function,
    Module,
    bases_of,
    defined,
    in_order,
)

REQUIRED = object()
"""In the place of the default of an argument that has none."""


def completed(node: Any) -> Any:
    """Plain data in which every node with a ``_target_`` has all arguments that have defaults.

    A value equal to the default is spelled as the default is: 1 for a default of 1.0 is 1.0.
    """
    if isinstance(node, list | tuple):
        return [completed(value) for value in node]
    if not isinstance(node, Mapping):
        return node
    whole = {key: completed(value) for key, value in node.items()}
    for name, default in _completed_defaults(str(node.get("_target_", ""))).items():
        if name not in whole or equal(whole[name], default):
            whole[name] = default
    return whole


@functools.cache
def _completed_defaults(name: str) -> dict[str, Any]:
    return {k: completed(v) for k, v in defaults({"_target_": name}).items()}


def equal(value: Any, default: Any) -> bool:
    """Whether a plain value says what the default says; no flag equals a number."""
    if isinstance(value, bool) or isinstance(default, bool):
        return value is default
    if isinstance(value, list | tuple) and isinstance(default, list | tuple):
        return len(value) == len(default) and all(map(equal, value, default))
    return bool(value == default)


def defaults(node: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of what a node constructs and their defaults, as plain data; empty if unknown."""
    known = arguments(str(node.get("_target_", "")))
    return {} if known is None else {k: v for k, v in known.items() if v is not REQUIRED}


@functools.cache
def arguments(name: str) -> dict[str, Any] | None:
    """Arguments of a class or function by its dotted name, those of the classes above it where it
    hands on ``**kwargs``; with their defaults, or :data:`REQUIRED`. None: its source is not known.
    """
    if name.startswith(LIBRARIES) or not is_allowed(name) or (called := defined(name)) is None:
        return None
    known: dict[str, Any] = {}
    for constructor in _constructors(called):
        own, hands_on = _arguments(constructor)
        known = {**own, **known}
        if not hands_on:
            break
    return known


def line_of(name: str, argument: str) -> tuple[Path, int]:
    """File and line of an argument that :func:`arguments` knows."""
    called = defined(name)
    for one in _constructors(called) if called else ():
        for above in [one] if isinstance(one.node, Function) else in_order(one):
            for node in ast.walk(getattr(above.node, "args", above.node)):
                named = node.arg if isinstance(node, ast.arg) else ""
                if isinstance(node, ast.AnnAssign):  # the field of a data class
                    named = ast.unparse(node.target)
                if named == argument:
                    return above.module.file, int(getattr(node, "lineno", 0))
    raise KeyError(argument)


def forget() -> None:
    """Read the source again."""
    sources.forget()
    arguments.cache_clear()
    _completed_defaults.cache_clear()


def _constructors(called: Definition) -> Iterator[Definition]:
    """The function, or the constructors of a class from it upwards; a data class is its own."""
    if isinstance(called.node, Function):
        yield called
    elif isinstance(called.node, ast.ClassDef):
        for one in in_order(called):
            if constructor := defined(f"{one.path}.__init__"):
                yield constructor
            elif _is_dataclass(one):
                yield one


def _arguments(constructor: Definition) -> tuple[dict[str, Any], bool]:
    """Arguments with defaults, and whether it takes any other (``**kwargs``)."""
    if not isinstance(constructor.node, Function):
        return _fields(constructor), False
    a = constructor.node.args
    positional = [*a.posonlyargs, *a.args]
    values = [*[None] * (len(positional) - len(a.defaults)), *a.defaults, *a.kw_defaults]
    named = zip([*positional, *a.kwonlyargs], values, strict=True)
    known = {arg.arg: _default(constructor.module, value) for arg, value in named}
    if positional and positional[0].arg in ("self", "cls"):
        del known[positional[0].arg]
    return known, a.kwarg is not None


def _is_dataclass(one: Definition) -> bool:
    decorators = getattr(one.node, "decorator_list", ())
    calls = (d.func if isinstance(d, ast.Call) else d for d in decorators)
    return any(ast.unparse(call).rpartition(".")[2] == "dataclass" for call in calls)


def _fields(one: Definition) -> dict[str, Any]:
    """Fields of a data class, those of its bases first."""
    fields: dict[str, Any] = {}
    for base in filter(_is_dataclass, bases_of(one)):
        fields |= _fields(base)
    for inner in getattr(one.node, "body", ()):
        if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
            if "ClassVar" in ast.unparse(inner.annotation):
                continue
            value = inner.value
            if isinstance(value, ast.Call) and ast.unparse(value.func).endswith("field"):
                keys = {k.arg: k.value for k in value.keywords}
                init = keys.get("init")
                if isinstance(init, ast.Constant) and init.value is False:
                    continue
                value = keys.get("default", keys.get("default_factory"))
            fields[inner.target.id] = _default(one.module, value)
    return fields


def _default(module: Module, value: ast.AST | None) -> Any:
    """The default that an expression of ``module`` stands for; constants are followed."""
    if value is None:
        return REQUIRED
    seen: set[str] = set()
    while isinstance(value, ast.Name | ast.Attribute):
        name = module.follow(ast.unparse(value))
        one = defined(name) if name not in seen and not name.startswith(LIBRARIES) else None
        if one is None:
            return name
        if isinstance(one.node, ast.ClassDef | Function):
            return {"_target_": name, "_partial_": True}
        seen.add(name)
        module, value = one.module, one.node
    try:
        return _plain(ast.literal_eval(value))
    except ValueError:
        return ast.unparse(value)


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return value if isinstance(value, str | int | float | None) else repr(value)
