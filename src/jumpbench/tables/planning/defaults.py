"""Defaults of what a configuration constructs, read from the source: planning imports nothing.

A run's identity is taken from its configuration completed by these, so that a default which is
written down changes no identity, and a changed default changes it. Literals and constants of
modules have values, a class or a function is the node that names it, and any other default
(``partial(AdamW, lr=1e-3)``) enters as its source text.
Classes of libraries are left as they are written.
"""

import ast
import functools
import importlib.machinery
import importlib.util
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jumpbench.tables.planning.constructors import LIBRARIES, is_allowed, own_folders

REQUIRED = object()
"""In the place of the default of an argument that has none."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


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
    if name.startswith(LIBRARIES) or not is_allowed(name):
        return None
    place = _place(name)
    if place is None:
        return None
    found: dict[str, Any] = {}
    for module, constructor in _constructors(*place):
        if isinstance(constructor, ast.ClassDef):
            return {**found, **_fields(module, constructor)}
        own, hands_on = _of_function(module, constructor)
        found = {**own, **found}
        if not hands_on:
            return found
    return found


def forget() -> None:
    """Read the source again."""
    for function in (_completed_defaults, arguments, _module, _head):
        function.cache_clear()


@dataclass
class _Module:
    """What the text of a module defines and imports at its top level."""

    name: str
    package: str
    definitions: dict[str, ast.AST] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)  # name here: dotted name there

    def follow(self, dotted: str) -> str:
        """The dotted name from outside of what is called ``dotted`` in this module."""
        head, dot, rest = dotted.partition(".")
        return self.imports.get(head, f"{self.name}.{head}") + dot + rest


@functools.cache
def _module(name: str) -> _Module | None:
    """The module of that name, parsed; None if there is none, or none written in Python."""
    head, *parts = name.split(".")
    path = _head(head)
    for part in parts:
        path = path and path / part
    if path is None:
        return None
    package = os.path.isfile(path / "__init__.py")
    file = path / "__init__.py" if package else path.with_suffix(".py")
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    module = _Module(name, name if package else name.rpartition(".")[0])
    for statement in tree.body:
        _note(module, statement)
    return module


@functools.cache
def _head(name: str) -> Path | None:
    """Where a top-level package or module lies, without its ending; nothing is imported."""
    folders = [str(folder) for folder in own_folders()]
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    spec = spec or importlib.machinery.PathFinder.find_spec(name, folders)
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return Path(spec.origin).with_suffix("") if spec.origin else None


def _note(module: _Module, statement: ast.stmt) -> None:
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            head = alias.name.partition(".")[0]
            module.imports[alias.asname or head] = alias.name if alias.asname else head
    elif isinstance(statement, ast.ImportFrom):
        above = module.package.split(".")
        above = above[: len(above) - statement.level + 1] if statement.level else []
        source = ".".join([*above, *([statement.module] if statement.module else [])])
        for alias in statement.names:
            module.imports[alias.asname or alias.name] = f"{source}.{alias.name}"
    elif isinstance(statement, ast.ClassDef | _Function):
        module.definitions[statement.name] = statement
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                module.definitions[target.id] = statement.value
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        if statement.value is not None:
            module.definitions[statement.target.id] = statement.value


def _place(name: str, seen: tuple[str, ...] = ()) -> tuple[_Module, ast.AST] | None:
    """The module that defines what is called ``name``, and the definition."""
    parts = name.split(".")
    for i in range(len(parts) - 1, 0, -1):
        module = _module(".".join(parts[:i])) if name not in seen else None
        if module is None:
            continue
        first, *rest = parts[i:]
        if first in module.imports:
            return _place(".".join([module.imports[first], *rest]), (*seen, name))
        definition = module.definitions.get(first)
        for part in rest:
            inner = getattr(definition, "body", ())
            definition = next(
                (d for d in inner if isinstance(d, ast.ClassDef | _Function) and d.name == part),
                None,
            )
        return (module, definition) if definition is not None else None
    return None


def _constructors(module: _Module, definition: ast.AST) -> Iterator[tuple[_Module, ast.AST]]:
    """The function, or the constructors of a class from it upwards; a data class is its own."""
    if isinstance(definition, _Function):
        yield module, definition
    elif isinstance(definition, ast.ClassDef):
        for place, one in _order(module, definition):
            inits = (d for d in one.body if isinstance(d, _Function) and d.name == "__init__")
            constructor = next(inits, one if _is_dataclass(one) else None)
            if constructor is not None:
                yield place, constructor


def _order(module: _Module, definition: ast.ClassDef) -> list[tuple[_Module, ast.ClassDef]]:
    """A class and those above it whose source is known, in Python's order (C3)."""
    bases = list(_bases(module, definition))
    rows = [*(_order(*base) for base in bases), bases]
    order = [(module, definition)]
    while rows := [row for row in rows if row]:
        later = {id(one) for row in rows for _, one in row[1:]}
        head = next((row[0] for row in rows if id(row[0][1]) not in later), rows[0][0])
        order.append(head)
        rows = [[entry for entry in row if entry[1] is not head[1]] for row in rows]
    return order


def _bases(module: _Module, definition: ast.ClassDef) -> Iterator[tuple[_Module, ast.ClassDef]]:
    for base in definition.bases:
        name = module.follow(ast.unparse(base.value if isinstance(base, ast.Subscript) else base))
        place = None if name.startswith(LIBRARIES) else _place(name)
        if place and isinstance(place[1], ast.ClassDef):
            yield place[0], place[1]


def _of_function(module: _Module, function: Any) -> tuple[dict[str, Any], bool]:
    """Arguments with defaults, and whether it takes any other (``**kwargs``)."""
    a = function.args
    positional = [*a.posonlyargs, *a.args]
    values = [*[None] * (len(positional) - len(a.defaults)), *a.defaults, *a.kw_defaults]
    named = zip([*positional, *a.kwonlyargs], values, strict=True)
    found = {arg.arg: _default(module, value) for arg, value in named}
    static = any(
        isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list
    )
    if positional and not static and positional[0].arg in ("self", "cls"):
        del found[positional[0].arg]
    return found, a.kwarg is not None


def _is_dataclass(definition: ast.ClassDef) -> bool:
    names = [
        ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in definition.decorator_list
    ]
    return any(name.rpartition(".")[2] == "dataclass" for name in names)


def _fields(module: _Module, definition: ast.ClassDef) -> dict[str, Any]:
    """Fields of a data class, those of its bases first."""
    found: dict[str, Any] = {}
    for place, base in _bases(module, definition):
        if _is_dataclass(base):
            found |= _fields(place, base)
    for inner in definition.body:
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
            found[inner.target.id] = _default(module, value)
    return found


def _default(module: _Module, value: ast.AST | None) -> Any:
    if value is None:
        return REQUIRED
    seen: set[str] = set()
    while isinstance(value, ast.Name | ast.Attribute):
        name = module.follow(ast.unparse(value))
        place = _place(name) if name not in seen and not name.startswith(LIBRARIES) else None
        if place is None:
            return name
        if isinstance(place[1], ast.ClassDef | _Function):
            return {"_target_": name, "_partial_": True}
        seen.add(name)
        module, value = place
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
