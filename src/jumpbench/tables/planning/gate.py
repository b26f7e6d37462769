"""The gate: everything that a configuration constructs or calls goes through it.

Configurations, table files and run folders of others are data, but for the names in them. A name
is resolved first; then the object that it leads to is judged, by the module that defines it (not
the one that was written, which may only import it) and by its kind. It may be

- a class of Lightning, torch.nn, torch.optim or torchmetrics: a part of a model or of a trainer,
- a class or a function of jumpbench's mathematics, data, evaluations and methods,
- a function of the list :data:`~jumpbench.tables.planning.constructors.FUNCTIONS`,
- a class, a function or an object of a module of one's own.

Methods of a class may be called where one's own code or jumpbench defines them, and nowhere else.
The object that was judged is the one that is called.
"""

import functools
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.planning.constructors import (
    CLOSED,
    FUNCTIONS,
    GETTERS,
    LAYERS,
    check_node,
    is_allowed,
    locate,
    refusal,
)
from jumpbench.tables.planning.ownmodules import NEVER_OWN, find_own_modules, is_listed, lies_here

_PARTS = (
    "torch.nn.", "torch.optim.", "torchmetrics.",
    *(f"lightning.pytorch.{part}." for part in (
        "accelerators", "callbacks", "core", "loggers", "plugins", "profilers", "strategies",
        "trainer")),
    *(f"lightning.fabric.{part}." for part in ("accelerators", "plugins", "strategies")),
)  # fmt: skip
"""Where the parts of models and trainers are defined."""
_PLAIN = (bool, int, float, str, list, tuple, dict)


def permitted(name: str, place: str = "") -> Any:
    """The object of that dotted name, if a configuration may call it.

    Raises:
        UserError: it may not, or there is no such object.
    """
    if not is_allowed(name):
        raise refusal(name, place)
    find_own_modules()
    target = locate(name, place)
    if name not in FUNCTIONS and not _may_be_called(target, name):
        origin = _origin(target) or type(target).__name__
        raise refusal(name, place, f" (of {origin})" if not name.startswith(origin) else "")
    return target


def called(node: Mapping[str, Any], place: str = "") -> Any:
    """What a node with a ``_target_`` calls; of a getter what it gets.

    Raises:
        UserError: a configuration may not call it.
    """
    target = permitted(check_node(node, place), place)
    getter = node["_target_"]
    if (getter == "hydra.utils.get_class" and not inspect.isclass(target)) or (
        getter not in ("hydra.utils.get_class", "hydra.utils.get_object") and not callable(target)
    ):
        kind = "class" if getter == "hydra.utils.get_class" else "function"
        raise UserError(f"{place}: {node.get('path', getter)} is no {kind}")
    return target


def construct(node: Any, /, _place: str = "", **further: Any) -> Any:
    """What plain data describes: each ``_target_`` called with its keys as arguments, inner ones
    first. ``_args_`` are positional; ``_partial_: true`` gives a function of what lacks.

    As Hydra's ``instantiate(node, _convert_="all", **further)``, on what the gate lets through. A
    text stays as it is: what looks like a formula is not looked up.

    Raises:
        UserError: a configuration may not call it.
    """
    if isinstance(node, list | tuple):
        return [construct(value, f"{_place}[{i}]") for i, value in enumerate(node)]
    if not isinstance(node, Mapping):
        return node
    inner = {
        key: value for key, value in node.items() if key not in ("_target_", *_OF_HYDRA)
    } | further
    if "_target_" not in node:
        return {k: construct(v, _below(_place, k)) for k, v in inner.items()}
    function = called(node, _place)
    if node["_target_"] in GETTERS:
        return function
    if node.get("_recursive_", True):
        inner = {
            k: v if k in further else construct(v, _below(_place, k)) for k, v in inner.items()
        }
    arguments = construct(node.get("_args_") or [], _below(_place, "_args_"))
    if node.get("_partial_"):
        return functools.partial(function, *arguments, **inner)
    try:
        return function(*arguments, **inner)
    except Exception as error:
        error.add_note(f"while {node['_target_']} was constructed ({_place or 'a configuration'})")
        raise


_OF_HYDRA = ("_args_", "_partial_", "_recursive_", "_convert_")


def _below(place: str, key: Any) -> str:
    return f"{place}.{key}" if place else str(key)


def _may_be_called(target: Any, name: str) -> bool:
    origin = _origin(target)
    if origin is None:
        return False
    if inspect.isclass(target) and f"{origin}.".startswith(_PARTS):
        return not any(part.startswith("_") for part in origin.split("."))
    if f"{origin}.".startswith(LAYERS):
        return origin not in CLOSED and (inspect.isclass(target) or _is_function(target, name))
    return _is_own(origin) or (origin == "builtins" and type(target) in _PLAIN and _is_own(name))


def _is_function(target: Any, name: str) -> bool:
    """A function of a module, or another constructor of a class: no method of its instances."""
    if "." not in getattr(target, "__qualname__", ""):
        return callable(target)
    owner, _, last = name.rpartition(".")
    static = inspect.getattr_static(locate(owner), last, None)
    return isinstance(static, classmethod | staticmethod)


def _origin(target: Any) -> str | None:
    """The module that defines a class, a function (what is behind ``partial``), or the class of any
    other object."""
    while isinstance(target, functools.partial | functools.partialmethod):
        target = target.func
    if inspect.ismethod(target):
        target = target.__func__
    if inspect.isclass(target) or inspect.isroutine(target) or hasattr(target, "__wrapped__"):
        return getattr(target, "__module__", None)
    return type(target).__module__


def _is_own(module: str) -> bool:
    """Whether a module (or something in it) is one's own, by its file."""
    head = module.split(".")[0]
    if is_listed(head):
        return True
    while module and module not in sys.modules:
        module = module.rpartition(".")[0]
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and head not in NEVER_OWN and lies_here(Path(file))
