"""What a configuration may name, judged by the name alone: planning imports nothing.

What a name leads to is judged where it is resolved, before anything is constructed: see
:mod:`jumpbench.tables.planning.gate`.
"""

import difflib
import functools
import importlib
import importlib.util
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jumpbench.errors import UserError, innermost
from jumpbench.tables.planning.ownmodules import is_own, no_module

LAYERS = tuple(
    f"jumpbench.{layer}."
    for layer in ("processes", "samplers", "targets", "networks", "solvers", "metrics", "ops",
                  "data", "evaluations", "methods")
)  # fmt: skip
"""Parts of this package whose classes and functions may be called."""
CLOSED = (
    "jumpbench.data.catalog", "jumpbench.data.downloads", "jumpbench.data.files",
    "jumpbench.data.places", "jumpbench.data.published", "jumpbench.data.weights",
    "jumpbench.methods.common.shards",
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
    :data:`FUNCTIONS`, and both of modules of one's own: see
    :func:`~jumpbench.tables.planning.ownmodules.own_folders`, and
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
