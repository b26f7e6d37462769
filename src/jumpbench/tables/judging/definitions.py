"""Definitions by their dotted names, and what they name: read from the source, nothing is imported.

A definition is a class, a function or a constant at the top level of a module.
"""

import ast
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import jumpbench
from jumpbench.tables.planning.constructors import own_folders


@dataclass(frozen=True)
class Definition:
    """A definition with its place; ``node`` is what stands there."""

    module: str
    name: str
    file: Path
    line: int
    node: ast.stmt = field(repr=False, compare=False)

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(frozen=True)
class _Module:
    definitions: dict[str, Definition]
    imports: dict[str, str]  # name here: dotted name there


def definition(dotted: str) -> Definition | None:
    """What is called so; None for what no source in our folders defines (a library)."""
    parts = dotted.split(".")
    for i in range(len(parts) - 1, 0, -1):
        if (module := _module(".".join(parts[:i]))) is not None:
            name, *rest = parts[i:]
            if name in module.imports:
                return definition(".".join([module.imports[name], *rest]))
            return module.definitions.get(name) if not rest else None
    return None


@functools.cache
def named_in(one: Definition) -> tuple[Definition, ...]:
    """The definitions that are named inside one, bases of a class first."""
    return tuple(named_by(one.module, one.node))


def named_by(module: str, node: ast.AST) -> Iterator[Definition]:
    """The definitions that a piece of a module's code names, each once."""
    names = [ast.unparse(n) for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)]
    seen = {id(node)}
    for name in dict.fromkeys(names):
        one = definition(f"{module}.{name}")
        if one is not None and id(one.node) not in seen:
            seen.add(id(one.node))
            yield one


def layers(starts: Iterable[str]) -> Iterator[list[Definition]]:
    """The definitions of these names, then those that they name, then those that these name ..."""
    layer = [one for name in dict.fromkeys(starts) if (one := definition(name))]
    seen = {one.path for one in layer}
    while layer:
        yield layer
        below = {one.path: one for above in layer for one in named_in(above)}
        layer = [one for path, one in below.items() if path not in seen]
        seen |= set(below)


def _module(name: str) -> _Module | None:
    root = Path(jumpbench.__file__).parents[1]
    for top in [root] if name.partition(".")[0] == "jumpbench" else own_folders():
        path = top.joinpath(*name.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return _parsed(name, file, file.stat().st_mtime_ns)
    return None


@functools.cache
def _parsed(name: str, file: Path, changed: int) -> _Module:
    definitions: dict[str, Definition] = {}
    imports: dict[str, str] = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            above = name.split(".")[: -node.level] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            imports |= {a.asname or a.name: f"{source}.{a.name}" for a in node.names}
        for target in _names(node):
            definitions[target] = Definition(name, target, file, node.lineno, node)
    return _Module(definitions, imports)


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [t.id for t in targets if isinstance(t, ast.Name)]
