"""What a configuration may name, judged by the name alone: planning imports nothing.

What a name leads to is judged where it is resolved, before anything is constructed: see
:mod:`jumpbench.tables.planning.gate`.
"""

import contextlib
import difflib
import functools
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError, innermost
from jumpbench.paths import own_conf_dirs

LAYERS = tuple(
    f"jumpbench.{layer}."
    for layer in ("processes", "samplers", "targets", "networks", "solvers", "metrics", "ops",
                  "data", "evaluations", "methods")
)  # fmt: skip
"""Parts of this package whose classes and functions may be called."""
CLOSED = (
    "jumpbench.data.catalog", "jumpbench.data.files", "jumpbench.data.places",
    "jumpbench.data.published", "jumpbench.data.weights", "jumpbench.methods.common.shards",
)  # fmt: skip
"""Modules among them that fetch, write or delete files."""
LIBRARIES = ("lightning.", "torch.nn.", "torch.optim.", "torchmetrics.")
"""Packages whose classes may be constructed."""

_ACTIVATIONS = (
    "celu", "elu", "gelu", "hardswish", "leaky_relu", "logsigmoid", "mish", "relu", "relu6", "selu",
    "sigmoid", "silu", "softplus", "softsign", "tanh", "log_softmax", "softmax", "normalize",
    "binary_cross_entropy_with_logits", "cross_entropy", "huber_loss", "l1_loss", "mse_loss",
    "smooth_l1_loss",
)  # fmt: skip
FUNCTIONS = {
    "torch.compile",
    *(f"torch.optim.swa_utils.get_{kind}_fn"
      for kind in ("ema_avg", "ema_multi_avg", "swa_avg", "swa_multi_avg")),
    *(f"torch.nn.functional.{name}" for name in _ACTIVATIONS),
    "jumpbench.artifacts.with_weights", "jumpbench.tables.views.barcharts.bars",
    "jumpbench.tables.views.barcharts.heatmap", "jumpbench.tables.views.figures.curves",
    "jumpbench.tables.views.races.races", "jumpbench.tables.views.scatter.scatter",
}  # fmt: skip
"""Further functions that may be called, by exactly these names."""
_NOT_ARGUMENTS = {"torch.compile": ("options", "_args_")}  # options name the compiler to be run
GETTERS = {"hydra.utils.get_method", "hydra.utils.get_class", "hydra.utils.get_object"}
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
    """Raises :class:`UserError` for a ``_target_`` that a configuration may not call, by its name.

    A configuration may construct classes of jumpbench, Lightning, torch.nn, torch.optim and
    torchmetrics, call functions of jumpbench's mathematics, data and methods and those of
    :data:`FUNCTIONS`, and both of modules of one's own: see :func:`own_folders`, and
    ``JUMPBENCH_MODULES`` (installed packages, separated by commas).
    """
    for place, node in targets(config):
        check_node(node, place)


def check_node(node: Mapping[str, Any], place: str = "") -> str:
    """What a node with a ``_target_`` calls, by name; of a getter what it gets.

    Raises:
        UserError: a configuration may not call that, or not with these arguments.
    """
    name = node["_target_"]
    if isinstance(name, str) and name in GETTERS:
        if set(node) - {"_convert_", "_recursive_"} != {"_target_", "path"}:
            raise UserError(f"{place}: {name} takes 'path' and nothing else")
        name = node["path"]
    if not isinstance(name, str) or not is_allowed(name):
        raise refusal(name, place)
    for key in _NOT_ARGUMENTS.get(name, ()):
        if key in node:
            raise UserError(f"{place}: a configuration may not give {key} to {name}")
    return name


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


def refusal(name: Any, place: str, why: str = "") -> UserError:
    """That a configuration may not call it: a name that leads nowhere, or what is not allowed."""
    if isinstance(name, str) and (nowhere := no_module(name.partition(".")[0])) and not why:
        return UserError(f"{place}: {nowhere}")
    return UserError(
        f"{place}: a configuration may not call {str(name)[:120]!r}{why}; allowed are classes of "
        "jumpbench, lightning, torch.nn, torch.optim and torchmetrics, jumpbench's own functions, "
        "and modules of your own (in this folder, beside JUMPBENCH_CONF, on PYTHONPATH, or named "
        "by JUMPBENCH_MODULES)".removeprefix(": ")
    )


@functools.cache
def is_allowed(name: str) -> bool:
    """Whether a configuration may name that; what it leads to is yet to be judged."""
    parts = name.split(".")
    if not all(part.isidentifier() and not part.startswith("__") for part in parts):
        return False
    if name in FUNCTIONS:
        return True
    if name.startswith((*LAYERS, *LIBRARIES)):
        return not any(part.startswith("_") for part in parts)
    return len(parts) > 1 and is_own(name)


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


def locate(name: str, place: str = "") -> Any:
    """The object of that dotted name: what a module has, or a class in it.

    Raises:
        UserError: its module cannot be imported, or has no such name; or the way to it leads
            through a module that another one has imported.
    """
    parts = name.split(".")
    target, error = None, None
    for i in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:i])
        try:
            target = importlib.import_module(module)
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
            if not hasattr(target, part):
                known = [n for n in dir(target) if not n.startswith("_")]
                near = difflib.get_close_matches(part, known, n=1, cutoff=0.5)
                hint = f"; did you mean '{near[0]}'?" if near else ""
                raise UserError(f"{place}: {module} has no '{part}'{hint}")
            target = getattr(target, part)
            if inspect.ismodule(target):
                raise refusal(name, place, f" ({module} only imports {target.__name__})")
        return target
    raise UserError(
        f"{place}: {name} is not importable ({error}): install its package, put it beside "
        "JUMPBENCH_CONF or in this folder, or set PYTHONPATH"
    )
