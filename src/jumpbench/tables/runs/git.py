"""What git knows of the checkout: commits, files that differ from one, and digests of these."""

import functools
import hashlib
import re
import subprocess
from pathlib import Path

from jumpbench.paths import checkout


def is_here(commit: str) -> bool:
    """Whether the checkout has a commit, so that files can be compared with it."""
    root = checkout()
    return root is not None and has_commit(root, commit)


@functools.cache
def has_commit(root: Path, commit: str) -> bool:
    """Whether a checkout has a commit of this full or shortened name."""
    known = re.fullmatch("[0-9a-f]{7,64}", commit)  # anything else could be an option of git
    return bool(known) and git(root, "cat-file", "-e", f"{commit}^{{commit}}") is not None


def edited(root: Path) -> dict[str, str]:
    """Digest of every file under ``src/`` that is new or differs from the commit, by its name."""
    names = differing(root, "HEAD", ["src"])
    return {name: digest(root / name) for name in sorted(names)}


def differing(root: Path, commit: str, names: list[str]) -> set[str]:
    """Files among ``names`` whose content is not that of the commit; new ones count."""
    staged = git(root, "diff", "--cached", "--relative", "--name-only", commit, "--", *names) or ""
    listed = ("ls-files", "--modified", "--others", "--exclude-standard")
    edited = git(root, *listed, "--", *names) or ""
    return {*staged.splitlines(), *edited.splitlines()}


def digest(path: Path) -> str:
    """Digest of a file's content; ``deleted`` where there is no file."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "deleted"


def git(root: Path, *arguments: str, seconds: float = 20) -> str | None:
    """What a git command prints; None where it fails, takes longer or there is no git.

    Only commands that leave the index of this checkout alone: those that read, and ``worktree``,
    which has an index of its own. A process that is killed while it renews the index leaves its
    lock behind, and no one can commit.
    """
    command = ["git", "--no-optional-locks", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
