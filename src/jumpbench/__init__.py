"""Discrete-state generative modelling and sampling: five papers, every table, one command each."""

from typing import TYPE_CHECKING, Any

from jumpbench.version import __version__ as __version__

if TYPE_CHECKING:
    from jumpbench.tables.commands.models import load_model as load_model
    from jumpbench.tables.commands.results import load_run as load_run
    from jumpbench.tables.commands.results import load_table as load_table

__all__ = ["load_model", "load_run", "load_table"]


def __getattr__(name: str) -> Any:
    # Late, so that a user of one sampler imports torch alone.
    if name in __all__:
        from jumpbench.tables.commands import models, results

        return getattr(models if name == "load_model" else results, name)
    raise AttributeError(f"module 'jumpbench' has no attribute '{name}'")
