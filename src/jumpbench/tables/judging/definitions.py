"""Definitions by their dotted names, and what they name: read from the source, nothing is imported.

A definition is a class, a function or a constant at the top level of a module.
"""

import ast
import functools
from collections.abc import Iterator, Sequence
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
    module, _, name = dotted.rpartition(".")
    if not module or (parsed := _module(module)) is None:
        return None
    if name in parsed.definitions:
        return parsed.definitions[name]
    return definition(parsed.imports[name]) if name in parsed.imports else None


@functools.cache
def named_in(one: Definition) -> tuple[Definition, ...]:
    """The definitions that are named inside one, bases of a class first."""
    return tuple(named_by(one.module, one.node))


def named_by(module: str, node: ast.AST) -> Iterator[Definition]:
    """The definitions that a piece of a module's code names, each once."""
    names = dict.fromkeys(
        ast.unparse(n) for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)
    )
    known, seen = _module(module), set()
    for name in names if known else ():
        head, dot, rest = name.partition(".")
        if head in known.definitions and not dot:
            found = known.definitions[head]
        else:
            found = definition(known.imports[head] + dot + rest) if head in known.imports else None
        if found is not None and found.path not in seen and found.node is not node:
            seen.add(found.path)
            yield found


@functools.cache
def layers(starts: Sequence[str]) -> tuple[tuple[Definition, ...], ...]:
    """The definitions of these names, then those that they name, then those that these name ..."""
    layer = [one for name in starts if (one := definition(name))]
    found, seen = [], {one.path for one in layer}
    while layer:
        found.append(tuple(layer))
        below = [one for above in layer for one in named_in(above)]
        layer = []
        for one in below:
            if one.path not in seen:
                seen.add(one.path)
                layer.append(one)
    return tuple(found)


@functools.cache
def _module(name: str) -> _Module | None:
    root = Path(jumpbench.__file__).parents[1]
    tops = [root] if name.partition(".")[0] == "jumpbench" else own_folders()
    parts = name.split(".")
    files = [f for top in tops for f in (
        top.joinpath(*parts[:-1], f"{parts[-1]}.py"), top.joinpath(*parts, "__init__.py"))]  # fmt: skip
    file = next((f for f in files if f.is_file()), None)
    if file is None:
        return None
    definitions, imports = {}, {}
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
