"""The modules of the package that a module needs: what it imports, and what these import."""

import ast
import functools
from collections.abc import Iterable
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]


def imported(name: str) -> frozenset[Path]:
    """Files of the package that the module of a dotted name needs, itself included."""
    done: set[Path] = set()
    pending = [path for path in [_file(name)] if path]
    while pending:
        path = pending.pop()
        if path not in done:
            done.add(path)
            pending += _imports(path)
    return frozenset(done)


def _file(name: str) -> Path | None:
    """The module that a dotted name lies in: the longest part of it that is a file."""
    words = name.split(".")
    if words[0] != "jumpbench":
        return None
    for k in range(len(words), 1, -1):
        stem = PACKAGE.joinpath(*words[1:k])
        for path in (stem.with_suffix(".py"), stem / "__init__.py"):
            if path.is_file():
                return path
    return None


@functools.cache
def _imports(path: Path) -> tuple[Path, ...]:
    files = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: Iterable[str] = ()
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        files += [file for file in map(_file, names) if file]
    return tuple(dict.fromkeys(files))
