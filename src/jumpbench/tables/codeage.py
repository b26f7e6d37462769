"""Whether the code that a run used has changed since: its modules, and all that they import."""

import ast
import functools
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from jumpbench.paths import checkout

_PACKAGE = Path(__file__).resolve().parents[1]


def is_outdated(config: dict[str, Any], commit: str | None) -> bool:
    """Whether a file behind the run's data, method or evaluation is newer than ``commit``.

    False where nobody can say: outside a checkout, or at a commit that the checkout lacks.
    """
    parts = [config.get(key) for key in ("data", "method", "evaluation")]
    files = frozenset().union(*(imported(module) for module in targets(parts)))
    return bool(commit and files) and _changed_since(str(commit), files)


def targets(value: Any) -> Iterator[str]:
    """Every ``_target_`` inside a configuration."""
    if isinstance(value, dict):
        if isinstance(value.get("_target_"), str):
            yield value["_target_"]
        for inner in value.values():
            yield from targets(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from targets(inner)


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
        stem = _PACKAGE.joinpath(*words[1:k])
        for path in (stem.with_suffix(".py"), stem / "__init__.py"):
            if path.is_file():
                return path
    return None


@functools.cache
def _imports(path: Path) -> tuple[Path, ...]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: Iterable[str] = ()
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        found += [file for file in map(_file, names) if file]
    return tuple(dict.fromkeys(found))


@functools.cache
def _changed_since(commit: str, files: frozenset[Path]) -> bool:
    names = sorted(map(str, files))
    # A merge may bring in commits older than the run; what counts is whether a file differs.
    return bool(_git("diff", "--name-only", commit, "--", *names))


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(checkout() or _PACKAGE), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
