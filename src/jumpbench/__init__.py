"""Discrete-state generative modelling and sampling: five papers, every table, one command each."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from jumpbench.version import __version__ as __version__

if TYPE_CHECKING:
    from jumpbench import tables as tables
    from jumpbench.tables.commands.library import run as run
    from jumpbench.tables.commands.library import table as table
    from jumpbench.tables.commands.results import load_run as load_run
    from jumpbench.tables.commands.results import load_table as load_table
    from jumpbench.tables.planning.models import load_model as load_model

_PLACES = {
    "load_model": "planning.models", "load_run": "commands.results",
    "load_table": "commands.results", "run": "commands.library", "table": "commands.library",
}  # fmt: skip

__all__ = ["load_model", "load_run", "load_table", "run", "table", "tables"]


def __getattr__(name: str) -> Any:
    # Late, so that a user of one sampler imports torch alone.
    if name == "tables":  # a package that can be called
        return import_module("jumpbench.tables")
    if name in _PLACES:
        return getattr(import_module(f"jumpbench.tables.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'jumpbench' has no attribute '{name}'")
