"""Modules of one's own: where they lie, and which names lead to them."""

import contextlib
import difflib
import importlib.util
import os
import sys
from pathlib import Path

from jumpbench.paths import own_conf_dirs

NEVER_OWN = {
    *sys.stdlib_module_names, "jumpbench", "lightning", "torch", "torchmetrics", "hydra",
    "omegaconf", "numpy",
}  # fmt: skip


def own_folders() -> list[Path]:
    """Where modules of one's own are looked for: the working folder, ``JUMPBENCH_CONF`` and its
    parent, and what ``PYTHONPATH`` names."""
    folders = []
    with contextlib.suppress(OSError):  # the folder was deleted
        folders.append(Path.cwd())
    for own in own_conf_dirs():
        folders += [own, own.parent]
    folders += [Path(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    return folders


def find_own_modules() -> None:
    """Make modules of one's own importable, behind everything that is installed."""
    sys.path += [str(p) for p in own_folders() if str(p) not in sys.path]


def no_module(head: str) -> str | None:
    """In words, that there is no module of that name, and which one may be meant; else None."""
    with contextlib.suppress(ImportError, ValueError, AttributeError):
        if not head.isidentifier() or head in NEVER_OWN or importlib.util.find_spec(head):
            return None
    here = {p.stem for folder in own_folders() for p in folder.glob("*.py")}
    here |= {p.parent.name for folder in own_folders() for p in folder.glob("*/__init__.py")}
    near = difflib.get_close_matches(head, sorted(here), n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else " in this folder or on PYTHONPATH"
    return None if head in here else f"there is no module '{head}'{hint}"


def is_own(name: str) -> bool:
    """Whether a dotted name begins with a module of one's own."""
    head = name.partition(".")[0]
    return head not in NEVER_OWN and (is_listed(head) or _lies_here(head))


def is_listed(head: str) -> bool:
    """Whether ``JUMPBENCH_MODULES`` names that package."""
    return head in os.environ.get("JUMPBENCH_MODULES", "").replace(" ", "").split(",")


def _lies_here(head: str) -> bool:
    return any(
        ((p / head).is_dir() or (p / f"{head}.py").is_file()) and not _is_of_the_suite(head, p)
        for p in own_folders()
    )


def lies_here(file: Path) -> bool:
    """Whether a module's file is in a folder of one's own: not installed, and not of the suite."""
    for path in {Path(os.path.abspath(file)), file.resolve()}:
        if {"site-packages", "dist-packages"} & set(path.parts):
            return False
        for folder in own_folders():
            for above in {Path(os.path.abspath(folder)), folder.resolve()}:
                if path.is_relative_to(above):
                    head = path.relative_to(above).parts[0]
                    if not _is_of_the_suite(head, above):
                        return True
    return False


def _is_of_the_suite(head: str, folder: Path) -> bool:
    """Whether that part of a folder is code or tests of a checkout of the suite."""
    if head in ("src", "tests"):
        return (folder / "src" / "jumpbench").is_dir()
    return head == "jumpbench" and (folder / "jumpbench" / "errors.py").is_file()
