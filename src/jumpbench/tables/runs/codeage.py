"""Whether the code that a run used has changed since: its modules, and all that they import.

What counts is what the code does: docstrings, comments, the layout of lines and the types of
arguments change no number, nor do the modules that find files and name what is wrong with them. A
module that was moved is compared with what it was, wherever its imports lie now. Commits that a
test has shown to change no number are listed (:mod:`~jumpbench.tables.runs.same_numbers`).
"""

import ast
import functools
import hashlib
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from jumpbench.paths import checkout
from jumpbench.tables.runs.same_numbers import same_numbers
from jumpbench.tables.runs.syntax import PLUMBING, what_it_does

_PACKAGE = Path(__file__).resolve().parents[2]
_PLUMBING = frozenset(_PACKAGE / f"{name.replace('.', '/')}.py" for name in PLUMBING)


def is_outdated(config: dict[str, Any], origin: dict[str, Any]) -> bool:
    """Whether a file behind a run's data, method or evaluation does something else than then.

    ``origin`` is the run's provenance: its ``commit``, and its ``edited`` files (:func:`edited`),
    so that a run of code that was not committed is as old as that code, no older. False where
    nobody can say: outside a checkout, or at a commit that the checkout lacks.
    """
    parts = [config.get(key) for key in ("data", "method", "evaluation")]
    files = frozenset().union(*(imported(module) for module in targets(parts))) - _PLUMBING
    commit, then = str(origin.get("commit")), origin.get("edited") or {}
    known = re.fullmatch("[0-9a-f]{7,64}", commit)  # anything else could be an option of git
    return bool(known and files) and _changed_since(commit, files, tuple(then.items()))


def is_here(commit: str) -> bool:
    """Whether the checkout has a commit, so that files can be compared with it."""
    root = checkout()
    return root is not None and _has_commit(root, commit)


@functools.cache
def _has_commit(root: Path, commit: str) -> bool:
    known = re.fullmatch("[0-9a-f]{7,64}", commit)  # anything else could be an option of git
    return bool(known) and git(root, "cat-file", "-e", f"{commit}^{{commit}}") is not None


def edited(root: Path) -> dict[str, str]:
    """Digest of every file under ``src/`` that is new or differs from the commit, by its name."""
    names = _differing(root, "HEAD", ["src"])
    return {name: _digest(root / name) for name in sorted(names)}


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
    files = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: Iterable[str] = ()
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        files += [file for file in map(_file, names) if file]
    return tuple(dict.fromkeys(files))


@functools.cache
def _changed_since(
    commit: str, files: frozenset[Path], edited_then: tuple[tuple[str, str], ...]
) -> bool:
    root = checkout()
    if root is None:
        return False
    names = {str(path.relative_to(root)) for path in files}
    then = {name: digest for name, digest in edited_then if name in names}
    # A merge may bring in commits older than the run; what counts is whether a file differs.
    suspects = _differing(root, commit, sorted(names)) | then.keys()
    return any(_has_changed(root, commit, name, then.get(name)) for name in suspects)


@functools.cache
def _has_changed(root: Path, commit: str, name: str, edited_then: str | None) -> bool:
    """Whether a file differs from its ``edited`` state then, or where it had none from the commit's
    in what it does."""
    if edited_then is not None:
        return _digest(root / name) != edited_then
    before, path = git(root, "show", f"{commit}:./{name}"), root / name
    moved = _moved(root, commit)
    if before is None and name in moved:
        before = git(root, "show", f"{commit}:./{moved[name]}")
    if not path.is_file():
        return True
    renamed = {_module(then): _module(now) for now, then in moved.items()}
    now = what_it_does(path.read_text(encoding="utf-8"), {})
    then = None if before is None else what_it_does(before, renamed)
    return then != now and _carried_over(root, name, then) != now


def _carried_over(root: Path, name: str, state: str | None) -> str | None:
    """The syntax of a file, None where there is none, taken over the commits that change it and no
    number, oldest first."""
    for commit in same_numbers(root):
        if name not in _changed_by(root, commit):
            continue
        after = _syntax(root, commit, name)
        if after is not None and _syntax(root, f"{commit}^", name) == state:
            state = after
    return state


@functools.cache
def _changed_by(root: Path, commit: str) -> frozenset[str]:
    """Files under ``src/`` that a commit adds, edits or removes."""
    diff = ("diff", "--relative", "--no-renames", "--name-only")
    return frozenset((git(root, *diff, f"{commit}^", commit, "--", "src") or "").splitlines())


@functools.cache
def _syntax(root: Path, commit: str, name: str) -> str | None:
    """What a file of a commit does; None where it has no such file."""
    text = git(root, "show", f"{commit}:./{name}")
    return None if text is None else what_it_does(text, {})


@functools.cache
def _moved(root: Path, commit: str) -> dict[str, str]:
    """{name of a file under ``src/``: the name that it had at the commit}, where they differ."""
    diff = ("diff", "--cached", "--relative", "--find-renames=40%", "--diff-filter=R")
    lines = (git(root, *diff, "--name-status", commit, "--", "src") or "").splitlines()
    return {now: then for _, then, now in (line.split("\t") for line in lines)}


def _module(file: str) -> str:
    """The dotted name of a file under ``src/``."""
    return ".".join(Path(file).with_suffix("").parts[1:])


def _differing(root: Path, commit: str, names: list[str]) -> set[str]:
    """Files among ``names`` whose content is not that of the commit; new ones count."""
    staged = git(root, "diff", "--cached", "--relative", "--name-only", commit, "--", *names) or ""
    listed = ("ls-files", "--modified", "--others", "--exclude-standard")
    edited = git(root, *listed, "--", *names) or ""
    return {*staged.splitlines(), *edited.splitlines()}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "deleted"


def git(root: Path, *arguments: str) -> str | None:
    """What a git command prints; None where it fails or there is no git.

    Only commands that leave the index alone: ``status`` with this option, ``diff`` of commits or
    ``--cached``. A process that is killed while it renews the index leaves its lock behind, and no
    one can commit.
    """
    command = ["git", "--no-optional-locks", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
