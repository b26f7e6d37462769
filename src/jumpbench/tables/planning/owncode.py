"""What code of one's own does in a run, for the run's identity.

The suite's code has versions, and a run of an older one says so. Code of one's own has none: an
energy that was edited is another energy, and its runs are made anew.
"""

import ast
import functools
import hashlib
from typing import Any

from jumpbench.tables.planning.constructors import GETTERS, targets
from jumpbench.tables.planning.ownmodules import is_own
from jumpbench.tables.planning.sources import Definition, defined


def forget() -> None:
    """Read the source again."""
    _reached.cache_clear()


def own_code(config: Any) -> dict[str, str]:
    """{dotted name: digest} of one's own classes, functions and constants that a run constructs or
    calls, and of those that they name in turn. Docstrings, comments and layout do not count."""
    found: dict[str, str] = {}
    for _, node in targets(config):
        name = node.get("path") if node["_target_"] in GETTERS else node["_target_"]
        if isinstance(name, str) and is_own(name):
            found |= _reached(name)
    return found


@functools.cache
def _reached(name: str) -> dict[str, str]:
    found, pending = {}, [name]
    while pending:
        one = defined(pending.pop())
        if one is not None and is_own(one.path) and one.path not in found:
            found[one.path] = hashlib.sha256(_deeds(one.node).encode()).hexdigest()[:16]
            pending += _named(one)
    return found


def _named(one: Definition) -> set[str]:
    """The dotted names from outside of everything that a definition names."""
    names = set()
    for node in ast.walk(one.node):
        if isinstance(node, ast.Name | ast.Attribute):
            text = ast.unparse(node)
            if all(part.isidentifier() for part in text.split(".")):
                names.add(one.module.follow(text))
    return {name for name in names if is_own(name)}


def _deeds(node: ast.AST) -> str:
    """A syntax tree in words, without statements that are a string alone."""
    text = ast.dump(node)
    for part in ast.walk(node):
        if isinstance(part, ast.Expr) and isinstance(getattr(part.value, "value", None), str):
            text = text.replace(ast.dump(part), "")
    return text
