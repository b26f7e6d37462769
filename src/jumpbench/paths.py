"""Where the suite's own files and a user's results live: in a checkout, or installed as a wheel."""

import os
import stat
from pathlib import Path

from jumpbench.errors import UserError

_PACKAGE = Path(__file__).resolve().parent

# In the folder of a run (jumpbench.tables.runs has its other files), for runs that need others.
SAMPLES = "samples.pt"  # what a finished run leaves for others: samples, moments, networks
CHECKPOINTS = "checkpoints"
LAST_CHECKPOINT = "last.ckpt"


def named_folder(variable: str, text: str) -> Path:
    """The folder that an environment variable names, taken literally but for a leading ``~``.

    Raises:
        UserError: there can be none of that name.
    """
    path = Path(text)
    long = "give one of at most 3000 letters in all, and of at most 255 letters each folder"
    if len(os.fsencode(text)) > 3000 or any(len(os.fsencode(p)) > 255 for p in path.parts):
        raise UserError(f"{variable}={text[:40]}... is too long a name: {long}")
    try:
        return path.expanduser()
    except RuntimeError:
        user = path.parts[0][1:]
        why = f"there is no user '{user}'" if user else "this user has no home"
        raise UserError(f"{variable}={text[:80]}: {why}; give the folder in full") from None


def checkout() -> Path | None:
    """The source checkout this package is imported from, or None when installed from a wheel."""
    root = _PACKAGE.parents[1]
    return root if (root / "conf" / "run.yaml").is_file() else None


def suite_root() -> Path:
    """The folder with ``conf/`` and ``reproduce/``: the checkout, else the package data."""
    return checkout() or _PACKAGE / "_suite"


def own_conf_dirs() -> list[Path]:
    """``JUMPBENCH_CONF``: folders of one's own experiments and groups, separated as in ``PATH``.

    Raises:
        UserError: one of them does not exist.
    """
    return _own_folders("JUMPBENCH_CONF")


def conf_dirs() -> list[Path]:
    """Folders of configuration, in the order in which a file is looked for: one's own, then the
    suite's."""
    return list(dict.fromkeys([*own_conf_dirs(), (suite_root() / "conf").resolve()]))


def reproduce_dirs() -> list[Path]:
    """Folders of table files, in the order in which a table is looked for: those of
    ``JUMPBENCH_REPRODUCE`` (separated as in ``PATH``), then the suite's.

    Raises:
        UserError: one of one's own does not exist.
    """
    own = _own_folders("JUMPBENCH_REPRODUCE")
    return list(dict.fromkeys([*own, (suite_root() / "reproduce").resolve()]))


def reproduce_dir() -> Path:
    """The first of :func:`reproduce_dirs`: whose pages are renewed."""
    return reproduce_dirs()[0]


def table_ids() -> list[str]:
    """Ids (``slug/table``) of all table files, one's own and the suite's."""
    files = [path for folder in reproduce_dirs() for path in folder.glob("*/*.yaml")]
    return sorted({f"{path.parent.name}/{path.stem}" for path in files})


def experiment_names() -> list[str]:
    """All experiments (``slug/name``), one's own and the suite's."""
    folders = [root / "experiment" for root in conf_dirs()]
    return sorted(
        {str(p.relative_to(f).with_suffix("")) for f in folders for p in f.rglob("*.yaml")}
    )


MADE = ("sweep", "compare")
"""First parts of the ids of tables that commands of these names write, into the outputs."""


def made_file(table_id: str) -> Path:
    """The file of such a table, named after its command."""
    return outputs_root() / "tables" / table_id / f"{table_id.partition('/')[0]}.yaml"


def made_tables() -> list[str]:
    """Ids of the tables that commands have written."""
    root = outputs_root() / "tables"
    files = [file for slug in MADE for file in (root / slug).glob(f"*/{slug}.yaml")]
    return sorted(f"{file.stem}/{file.parent.name}" for file in files)


def sweep_of_wandb(table_id: str) -> Path:
    """Where the id of a sweep on the server of W&B is kept, if it has one."""
    return made_file(table_id).with_name("wandb.json")


def table_file(table_id: str, below: Path | None = None) -> Path | None:
    """The file of a table in the first folder that has it; ``below``: behind that file."""
    files = [folder / f"{table_id}.yaml" for folder in reproduce_dirs()]
    if table_id.partition("/")[0] in MADE:
        files.append(made_file(table_id))
    if below is not None and (taken := below.resolve()) in (found := [f.resolve() for f in files]):
        files = files[found.index(taken) + 1 :]
    return next((file for file in files if os.path.isfile(file)), None)


def _own_folders(variable: str) -> list[Path]:
    named = os.environ.get(variable, "").split(os.pathsep)
    return [existing_folder(variable, name.strip()) for name in named if name.strip()]


def existing_folder(variable: str, name: str) -> Path:
    """The folder that an environment variable names.

    Raises:
        UserError: there is none.
    """
    folder = Path(os.path.realpath(named_folder(variable, name)))
    if not os.path.isdir(folder):
        raise UserError(f"{variable}: there is no folder {folder}; make it, or unset {variable}")
    return folder


def outputs_root() -> Path:
    """``JUMPBENCH_OUTPUTS``, else ``outputs/`` in the checkout or in the working folder."""
    own = os.environ.get("JUMPBENCH_OUTPUTS")
    if own:
        return Path(os.path.realpath(named_folder("JUMPBENCH_OUTPUTS", own)))
    return (checkout() or Path.cwd()) / "outputs"


def data_root(root: str | Path | None = None) -> Path:
    """``root``, else ``JUMPBENCH_DATA``, else ``data/`` of the checkout or the working folder.

    Raises:
        UserError: ``JUMPBENCH_DATA`` is no folder, or no name of one.
    """
    if not root and (own := os.environ.get("JUMPBENCH_DATA")):
        folder = named_folder("JUMPBENCH_DATA", own)
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise UserError(f"JUMPBENCH_DATA={own} is no folder; give the one that holds datasets")
        return folder
    return Path(root or (checkout() or Path()) / "data").expanduser()


def cache_folder(name: str) -> Path | None:
    """A folder that this user alone can write, for what can be made again; None if there is none.

    It is in ``JUMPBENCH_CACHE``, else in ``jumpbench`` under ``XDG_CACHE_HOME`` or ``~/.cache``.
    """
    users = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "jumpbench"
    try:
        above = Path(os.environ.get("JUMPBENCH_CACHE") or users).expanduser().absolute()
        return _private(above / name)
    except (OSError, RuntimeError):  # read-only, full, or a user without a home
        return None


def _private(folder: Path) -> Path | None:
    for each in (folder.parent, folder):
        if not each.is_dir():
            each.parent.mkdir(parents=True, exist_ok=True)
            each.mkdir(mode=0o700, exist_ok=True)
        found = each.lstat()
        own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
        if not own or not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o022:
            return None
    return folder
