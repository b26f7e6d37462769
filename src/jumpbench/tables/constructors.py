"""What a configuration may construct, and where it is found."""

import contextlib
import difflib
import functools
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError, innermost
from jumpbench.paths import own_conf_dirs

_SAFE = (
    "jumpbench.", "lightning.", "torch.nn.", "torch.optim.", "torch.compile", "torchmetrics.",
    "hydra.utils.get_method", "hydra.utils.get_class", "hydra.utils.get_object",
)  # fmt: skip
GETTERS = {"hydra.utils.get_method", "hydra.utils.get_class", "hydra.utils.get_object"}


def own_folders() -> list[Path]:
    """Where modules of one's own are looked for: the working folder, ``JUMPBENCH_CONF`` and its
    parent, and what ``PYTHONPATH`` names."""
    found = []
    with contextlib.suppress(OSError):  # the folder was deleted
        found.append(Path.cwd())
    for own in own_conf_dirs():
        found += [own, own.parent]
    found += [Path(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    return found


def find_own_modules() -> None:
    """Make modules of one's own importable, behind everything that is installed."""
    sys.path += [str(p) for p in own_folders() if str(p) not in sys.path]


def targets(config: Any, place: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every node with a ``_target_``, and its place in the configuration, inner ones first."""
    if isinstance(config, Mapping):
        for key, value in config.items():
            yield from targets(value, f"{place}.{key}" if place else str(key))
        if "_target_" in config:
            yield place, config
    elif isinstance(config, Sequence) and not isinstance(config, str):
        for i, value in enumerate(config):
            yield from targets(value, f"{place}[{i}]")


def check_allowed(config: Mapping[str, Any]) -> None:
    """Raises :class:`UserError` for a ``_target_`` that a configuration may not call.

    A configuration may construct what belongs to jumpbench, Lightning, torch.nn and torch.optim,
    and what lies in modules of one's own: see :func:`own_folders`, and ``JUMPBENCH_MODULES``
    (installed packages, separated by commas).
    """
    for place, node in targets(config):
        names = [str(node["_target_"])]
        if names[0] in GETTERS:
            names.append(str(node.get("path", "")))
        for name in names:
            if not is_allowed(name):
                raise UserError(
                    f"{place}: a configuration may not call {name!r}; allowed are jumpbench, "
                    "lightning, torch.nn, torch.optim, and modules of your own (in this folder, "
                    "beside JUMPBENCH_CONF, on PYTHONPATH, or named by JUMPBENCH_MODULES)"
                )


@functools.cache
def is_allowed(name: str) -> bool:
    if any(name == safe or (safe.endswith(".") and name.startswith(safe)) for safe in _SAFE):
        return not any(part.startswith("_") for part in name.split("."))
    head = name.split(".")[0]
    if head in sys.stdlib_module_names or head in ("torch", "hydra", "omegaconf", "numpy"):
        return False
    if head in os.environ.get("JUMPBENCH_MODULES", "").replace(" ", "").split(","):
        return True
    return any((p / head).is_dir() or (p / f"{head}.py").is_file() for p in own_folders())


def locate(name: str, place: str = "") -> Any:
    """The object of that dotted name.

    Raises:
        UserError: its module cannot be imported, or has no such name.
    """
    parts = name.split(".")
    found, error = None, None
    for i in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:i])
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as missing:
            if missing.name is None or not (module + ".").startswith(missing.name + "."):
                raise UserError(f"{place}: {name}: importing {module} failed: {missing}") from None
            error = missing
            continue
        except Exception as broken:
            inner = innermost(broken)
            raise UserError(
                f"{place}: {name}: importing {module} failed: {type(inner).__name__}: {inner}"
            ) from None
        for part in parts[i:]:
            if not hasattr(found, part):
                known = [n for n in dir(found) if not n.startswith("_")]
                near = difflib.get_close_matches(part, known, n=1, cutoff=0.5)
                hint = f"; did you mean '{near[0]}'?" if near else ""
                raise UserError(f"{place}: {module} has no '{part}'{hint}")
            found = getattr(found, part)
        return found
    raise UserError(
        f"{place}: {name} is not importable ({error}): install its package, put it beside "
        "JUMPBENCH_CONF or in this folder, or set PYTHONPATH"
    )
