"""Definitions of classes, functions and constants, found in the source by their dotted names.

Nothing is imported: imports of a module are followed by its syntax tree, into the package, one's
own modules and those of ``JUMPBENCH_MODULES``.
"""

import ast
import difflib
import functools
import importlib.machinery
import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeGuard

from jumpbench.tables.planning.constructors import LIBRARIES
from jumpbench.tables.planning.ownmodules import no_module, own_folders

Function = ast.FunctionDef | ast.AsyncFunctionDef


def forget() -> None:
    """Read the source again."""
    _module.cache_clear()
    _head.cache_clear()


@dataclass(eq=False)
class Module:
    """What the text of a module defines and imports at its top level."""

    name: str
    package: str
    file: Path
    definitions: dict[str, ast.AST] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)  # name here: dotted name there

    def follow(self, dotted: str) -> str:
        """The dotted name from outside of what is called ``dotted`` in this module."""
        head, dot, rest = dotted.partition(".")
        return self.imports.get(head, f"{self.name}.{head}") + dot + rest


class Definition(NamedTuple):
    """A class, a function, or the value of a constant, called so in its module."""

    module: Module
    name: str
    node: ast.AST

    @property
    def path(self) -> str:
        return f"{self.module.name}.{self.name}"

    @property
    def line(self) -> int:
        return int(getattr(self.node, "lineno", 0))


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
    module = Module(name, name if package else name.rpartition(".")[0], file)
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


def defined(name: str, seen: tuple[str, ...] = ()) -> Definition | None:
    """What is called ``name``; None of what no source says."""
    parts = name.split(".")
    for i in range(len(parts) - 1, 0, -1):
        module = _module(".".join(parts[:i])) if name not in seen else None
        if module is None:
            continue
        first, *rest = parts[i:]
        if first in module.imports:
            return defined(".".join([module.imports[first], *rest]), (*seen, name))
        node = module.definitions.get(first)
        for part in rest:
            inner = (d for d in getattr(node, "body", ()) if isinstance(d, ast.ClassDef | Function))
            node = next((d for d in inner if d.name == part), None)
        return Definition(module, ".".join(parts[i:]), node) if node is not None else None
    return None


def leads_nowhere(name: str) -> str | None:
    """In words, that a dotted name has no module, or a name that is spelled nearly as one in it."""
    head, _, rest = name.partition(".")
    if not rest or defined(name):
        return None
    if nowhere := no_module(head):
        return nowhere
    module, _, last = name.rpartition(".")
    known = _module(module)
    names = sorted({*known.definitions, *known.imports}) if known else []
    near = difflib.get_close_matches(last, names, n=1, cutoff=0.5)
    return f"{module} has no '{last}'; did you mean '{near[0]}'?" if near else None


def in_order(one: Definition) -> list[Definition]:
    """A class and those above it whose source is known, in Python's order (C3)."""
    bases = list(bases_of(one))
    rows = [*map(in_order, bases), bases]
    order = [one]
    while rows := [row for row in rows if row]:
        later = {above for row in rows for above in row[1:]}
        head = next((row[0] for row in rows if row[0] not in later), rows[0][0])
        order.append(head)
        rows = [[above for above in row if above != head] for row in rows]
    return order


def bases_of(one: Definition) -> Iterator[Definition]:
    """The classes right above a class, those whose source is known."""
    for base in getattr(one.node, "bases", ()):
        name = one.module.follow(
            ast.unparse(base.value if isinstance(base, ast.Subscript) else base)
        )
        above = None if name.startswith(LIBRARIES) else defined(name)
        if above and isinstance(above.node, ast.ClassDef):
            yield above
