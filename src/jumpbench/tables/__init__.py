"""The reproduction engine, eight rooms; each uses only those before it.

``language``
    Table files: their keys, types, checks and inheritance.
``planning``
    From a table file and a scale to runs and their identity. The gate that judges what a
    configuration may call. ``planning.fast`` holds what is there for speed alone.
``price``
    What a run takes in operations, seconds and memory, counted before it is made.
``runs``
    The life of one run: its folder, training, checkpoints, stops and provenance.
``launchers``
    Where runs are made: in this process, on all cores and GPUs by Ray, as jobs of Slurm.
``judging``
    From finished runs to cells, verdicts and claims.
``views``
    What a person sees: terminal, Markdown, LaTeX, page, figures.
``commands``
    What each command of ``jumpbench`` does with the rooms above.
"""

import sys
from types import ModuleType
from typing import Any


class _Package(ModuleType):
    def __call__(self) -> list[dict[str, Any]]:
        """All tables, as :func:`jumpbench.tables.commands.library.tables` lists them."""
        from jumpbench.tables.commands.library import tables

        return tables()


sys.modules[__name__].__class__ = _Package
