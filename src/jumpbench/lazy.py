"""Names of a package that are imported from its modules when they are first asked for."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: dict[str, str]) -> tuple[Callable[[str], Any], list[str]]:
    """``__getattr__`` and ``__all__`` of ``package``: ``modules`` is {module: "Name other_name"}.

    A user of one sampler then pays for the modules of that one alone.
    """
    places = {name: module for module, names in modules.items() for name in names.split()}

    def getattribute(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(import_module(f"{package}.{places[name]}"), name)

    return getattribute, sorted(places)
