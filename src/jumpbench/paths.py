"""Where the suite's own files and a user's results live: in a checkout, or installed as a wheel."""

import os
from pathlib import Path

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
    """``JUMPBENCH_CONF``: a folder of one's own experiments and groups, searched after ours."""
    own = os.environ.get("JUMPBENCH_CONF")
    return Path(own).expanduser().resolve() if own else None


def reproduce_dir() -> Path:
    """Table files and recorded results; ``JUMPBENCH_REPRODUCE`` points at a folder of one's own."""
    own = os.environ.get("JUMPBENCH_REPRODUCE")
    return Path(own).expanduser().resolve() if own else suite_root() / "reproduce"


def outputs_root() -> Path:
    """``JUMPBENCH_OUTPUTS``, else ``outputs/`` in the checkout or in the working folder."""
    own = os.environ.get("JUMPBENCH_OUTPUTS")
    if own:
        return Path(own).expanduser().resolve()
    return (checkout() or Path.cwd()) / "outputs"
