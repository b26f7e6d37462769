"""What definitions of the suite and of one's own name; read from the source alone."""

import ast
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

from jumpbench.tables.planning.ownmodules import own_folders
from jumpbench.tables.planning.sources import Definition, Module, defined


def definition(dotted: str) -> Definition | None:
    """What is called so at the top level of a module; None of what a library defines."""
    one = defined(dotted)
    return one if one and "." not in one.name and _is_ours(one.module) else None


def _is_ours(module: Module) -> bool:
    file = module.file
    return module.name.startswith("jumpbench.") or any(
        file.is_relative_to(folder) and "site-packages" not in file.parts
        for folder in map(Path.absolute, own_folders())
    )


@functools.cache
def named_in(one: Definition) -> tuple[Definition, ...]:
    """The definitions that are named inside one, bases of a class first."""
    return tuple(named_by(one.module, one.node))


def named_by(module: Module, node: ast.AST) -> Iterator[Definition]:
    """The definitions that a piece of a module's code names, each once."""
    names = [ast.unparse(n) for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)]
    seen = {id(node)}
    for name in dict.fromkeys(names):
        one = definition(module.follow(name))
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
