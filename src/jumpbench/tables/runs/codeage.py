"""Whether the code that a run used has changed since: its modules, and all that they import.

What counts is what the code does: docstrings, comments, the layout of lines and the types of
arguments change no number, nor do the modules that find files and name what is wrong with them. A
module that was moved is compared with what it was, wherever its imports lie now. Commits that a
test has shown to change no number are listed (:mod:`~jumpbench.tables.runs.same_numbers`).
"""

import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumpbench.paths import checkout
from jumpbench.tables.planning.constructors import targets
from jumpbench.tables.runs.git import differing, digest, git, has_commit
from jumpbench.tables.runs.imports import PACKAGE, imported
from jumpbench.tables.runs.same_numbers import same_numbers
from jumpbench.tables.runs.syntax import PLUMBING, what_it_does

_PLUMBING = frozenset(PACKAGE / f"{name.replace('.', '/')}.py" for name in PLUMBING)


def is_outdated(config: dict[str, Any], origin: dict[str, Any]) -> bool:
    """Whether a file behind a run's data, method or evaluation does something else than then.

    ``origin`` is the run's provenance: its ``commit``, and the digests of its ``edited`` files
    (:func:`~jumpbench.tables.runs.git.edited`), so that a run of code that was not committed is as
    old as that code, no older. False where nobody can say: outside a checkout, and for the
    committed files of a commit that the checkout lacks.
    """
    parts = [config.get(key) for key in ("data", "method", "evaluation")]
    called = {str(node["_target_"]) for _, node in targets(parts)}
    files = frozenset().union(*map(imported, called)) - _PLUMBING
    then = origin.get("edited") or {}
    return _changed_since(str(origin.get("commit")), files, tuple(then.items()))


@functools.cache
def _changed_since(
    commit: str, files: frozenset[Path], edited_then: tuple[tuple[str, str], ...]
) -> bool:
    root = checkout()
    if root is None:
        return False
    names = {str(path.relative_to(root)) for path in files}
    then = {name: digest for name, digest in edited_then if name in names}
    suspects = set(then)
    if names and has_commit(root, commit):
        # A merge may bring in commits older than the run; what counts is whether a file differs.
        suspects |= differing(root, commit, sorted(names))
    return any(_has_changed(root, commit, name, then.get(name)) for name in suspects)


@functools.cache
def _has_changed(root: Path, commit: str, name: str, edited_then: str | None) -> bool:
    """Whether a file differs from its ``edited`` state then, or where it had none from the commit's
    in what it does."""
    if edited_then is not None:
        return digest(root / name) != edited_then
    before, path = git(root, "show", f"{commit}:./{name}"), root / name
    moved = _moved(root, commit)
    if before is None and name in moved:
        before = git(root, "show", f"{commit}:./{moved[name]}")
    if not path.is_file():
        return True
    renamed = {_module(then): _module(now) for now, then in moved.items()}
    now = _does_now(path)
    then = None if before is None else _does(before, renamed)
    return then != now and _carried_over(root, name, then) != now


@functools.cache
def _does_now(path: Path) -> str:
    return _does(path.read_text(encoding="utf-8"), {})


def _does(text: str, renamed: Mapping[str, str]) -> str:
    """Digest of what a module does. Most commits have the same state of it, and few of the modules
    that were ``renamed`` since are among its imports."""
    named = {then: now for then, now in renamed.items() if then.rpartition(".")[2] in text}
    return _digest(text, frozenset(named.items()))


@functools.cache
def _digest(text: str, renamed: frozenset[tuple[str, str]]) -> str:
    return hashlib.sha256(what_it_does(text, dict(renamed)).encode()).hexdigest()


def _carried_over(root: Path, name: str, state: str | None) -> str | None:
    """What a file does, None where there is none, taken over the commits that change it and no
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
    return None if text is None else _does(text, {})


@functools.cache
def _moved(root: Path, commit: str) -> dict[str, str]:
    """{name of a file under ``src/``: the name that it had at the commit}, where they differ."""
    diff = ("diff", "--cached", "--relative", "--find-renames=40%", "--diff-filter=R")
    lines = (git(root, *diff, "--name-status", commit, "--", "src") or "").splitlines()
    return {now: then for _, then, now in (line.split("\t") for line in lines)}


def _module(file: str) -> str:
    """The dotted name of a file under ``src/``."""
    return ".".join(Path(file).with_suffix("").parts[1:])
