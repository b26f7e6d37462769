"""Definitions of classes, functions and constants, found in the source by their dotted names.

Nothing is imported: imports of a module are followed by its syntax tree, into the package, one's
own modules and those of ``JUMPBENCH_MODULES``.
"""

import ast
import functools
import importlib.machinery
import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeGuard

from jumpbench.tables.planning.constructors import LIBRARIES, own_folders

Function = ast.FunctionDef | ast.AsyncFunctionDef


def forget() -> None:
    """Read the source again."""
    _module.cache_clear()
    _head.cache_clear()


@dataclass
class Module:
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
def _module(name: str) -> Module | None:
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
    module = Module(name, name if package else name.rpartition(".")[0])
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


def _note(module: Module, statement: ast.stmt) -> None:
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
    elif isinstance(statement, ast.ClassDef | Function):
        module.definitions[statement.name] = statement
    elif isinstance(statement, ast.Assign) and _is_lazy(statement.value):
        for source, names in ast.literal_eval(statement.value.args[1]).items():
            module.imports |= {name: f"{module.name}.{source}.{name}" for name in names.split()}
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                module.definitions[target.id] = statement.value
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        module.definitions |= {statement.target.id: statement.value} if statement.value else {}


def _is_lazy(value: ast.expr) -> TypeGuard[ast.Call]:
    """Whether these are the names that a package imports when they are first asked for."""
    if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Name)):
        return False
    return value.func.id == "lazy_names" and isinstance(value.args[1], ast.Dict)


def defined(name: str, seen: tuple[str, ...] = ()) -> tuple[Module, ast.AST] | None:
    """The module that defines what is called ``name``, and the definition."""
    parts = name.split(".")
    for i in range(len(parts) - 1, 0, -1):
        module = _module(".".join(parts[:i])) if name not in seen else None
        if module is None:
            continue
        first, *rest = parts[i:]
        if first in module.imports:
            return defined(".".join([module.imports[first], *rest]), (*seen, name))
        definition = module.definitions.get(first)
        for part in rest:
            inner = getattr(definition, "body", ())
            definition = next(
                (d for d in inner if isinstance(d, ast.ClassDef | Function) and d.name == part),
                None,
            )
        return (module, definition) if definition is not None else None
    return None


def in_order(module: Module, definition: ast.ClassDef) -> list[tuple[Module, ast.ClassDef]]:
    """A class and those above it whose source is known, in Python's order (C3)."""
    bases = list(bases_of(module, definition))
    rows = [*(in_order(*base) for base in bases), bases]
    order = [(module, definition)]
    while rows := [row for row in rows if row]:
        later = {id(one) for row in rows for _, one in row[1:]}
        head = next((row[0] for row in rows if id(row[0][1]) not in later), rows[0][0])
        order.append(head)
        rows = [[entry for entry in row if entry[1] is not head[1]] for row in rows]
    return order


def bases_of(module: Module, definition: ast.ClassDef) -> Iterator[tuple[Module, ast.ClassDef]]:
    """The classes right above a class, those whose source is known."""
    for base in definition.bases:
        name = module.follow(ast.unparse(base.value if isinstance(base, ast.Subscript) else base))
        place = None if name.startswith(LIBRARIES) else defined(name)
        if place and isinstance(place[1], ast.ClassDef):
            yield place[0], place[1]
