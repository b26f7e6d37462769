"""Discrete-state generative modelling and sampling: five papers, every table, one command each."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jumpbench.tables.results import load_run as load_run
    from jumpbench.tables.results import load_table as load_table

__version__ = "0.1.0"
__all__ = ["load_run", "load_table"]


def __getattr__(name: str) -> Any:
    # Late, so that a user of one sampler imports torch alone.
    if name in __all__:
        from jumpbench.tables import results

        return getattr(results, name)
    raise AttributeError(f"module 'jumpbench' has no attribute '{name}'")
