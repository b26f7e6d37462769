"""Where the suite's own files and a user's results live: in a checkout, or installed as a wheel."""

import os
from pathlib import Path

from jumpbench.errors import UserError

_PACKAGE = Path(__file__).resolve().parent


def checkout() -> Path | None:
    """The source checkout this package is imported from, or None when installed from a wheel."""
    root = _PACKAGE.parents[1]
    return root if (root / "conf" / "run.yaml").is_file() else None


def suite_root() -> Path:
    """The folder with ``conf/`` and ``reproduce/``: the checkout, else the package data."""
    return checkout() or _PACKAGE / "_suite"


def conf_dir() -> Path:
    return suite_root() / "conf"


def own_conf_dir() -> Path | None:
    """``JUMPBENCH_CONF``: a folder of one's own experiments and groups, searched after ours.

    Raises:
        UserError: there is no such folder.
    """
    own = os.environ.get("JUMPBENCH_CONF")
    return _folder("JUMPBENCH_CONF", own) if own else None


def reproduce_dirs() -> list[Path]:
    """Folders of table files, in the order in which a table is looked for: those of
    ``JUMPBENCH_REPRODUCE`` (separated as in ``PATH``), then the suite's.

    Raises:
        UserError: one of one's own does not exist.
    """
    named = os.environ.get("JUMPBENCH_REPRODUCE", "").split(os.pathsep)
    own = [_folder("JUMPBENCH_REPRODUCE", name) for name in named if name.strip()]
    return list(dict.fromkeys([*own, (suite_root() / "reproduce").resolve()]))


def reproduce_dir() -> Path:
    """The first of :func:`reproduce_dirs`: whose pages are renewed."""
    return reproduce_dirs()[0]


def table_file(table_id: str, below: Path | None = None) -> Path | None:
    """The file of a table in the first folder that has it; ``below``: behind that file."""
    files = [folder / f"{table_id}.yaml" for folder in reproduce_dirs()]
    if below is not None and (taken := below.resolve()) in (found := [f.resolve() for f in files]):
        files = files[found.index(taken) + 1 :]
    return next((file for file in files if file.is_file()), None)


def _folder(variable: str, name: str) -> Path:
    path = Path(name.strip()).expanduser().resolve()
    if not path.is_dir():
        raise UserError(f"{variable}: there is no folder {path}; make it, or unset {variable}")
    return path


def outputs_root() -> Path:
    """``JUMPBENCH_OUTPUTS``, else ``outputs/`` in the checkout or in the working folder."""
    own = os.environ.get("JUMPBENCH_OUTPUTS")
    if own:
        return Path(own).expanduser().resolve()
    return (checkout() or Path.cwd()) / "outputs"
