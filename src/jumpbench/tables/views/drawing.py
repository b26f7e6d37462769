"""Figures of a table on disk: drawn once, and again when its runs or its file change."""

import contextlib
import functools
import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError, innermost
from jumpbench.files import write_atomic
from jumpbench.names import visible
from jumpbench.tables.runs.store import read_json, write_json
from jumpbench.tables.views.figures import entries, functions
from jumpbench.tables.views.filled import Filled

FORMATS = (".png", ".pdf")
DPI = 150


def draw(filled: Filled, folder: Path, runs: Sequence[str], anew: bool = False) -> list[Path]:
    """Draw every figure of the table, or keep those on disk of the same ``runs`` (never ``anew``):
    the paths of the pictures, beside each of which is a PDF.

    One without numbers yet is left out; one that cannot be drawn (a damaged ``samples.pt``) is
    told on standard error and left out.
    """
    stamp, wanted = folder / "drawn.json", entries(filled.table)
    if not wanted:
        return []
    if folder.is_symlink():
        print(f"no figure is drawn: {folder} is a link, which no table makes", file=sys.stderr)
        return []
    with contextlib.suppress(UserError, AttributeError, KeyError, TypeError):
        before = read_json(stamp, "delete it")
        own = {f"{entry.get('name', 'figure')}{FORMATS[0]}" for entry in wanted}
        paths = [folder / name for name in before["paths"] if name in own]
        same = before["runs"] == list(runs) and before["figures"] == wanted
        if (
            same
            and not anew
            and all(p.with_suffix(suffix).is_file() for p in paths for suffix in FORMATS)
        ):
            return paths
    paths, failed = [], False
    for name, function, arguments in functions(filled.table):
        try:
            files = [folder / f"{name}{suffix}" for suffix in FORMATS]
            drawn = _drawn(functools.partial(filled.drawn, name, function, arguments), files)
        except _DiskRefuses as error:
            raise error.cause from None
        except Exception as error:  # whatever a figure function or a damaged file raises
            failed = True
            cause = innermost(error)
            kind = "" if isinstance(cause, UserError) else f"{type(cause).__name__}: "
            words = visible(f"{kind}{cause}".splitlines()[0])
            print(f"figure '{name}' of {filled.table.id} is not drawn: {words}", file=sys.stderr)
            continue
        if drawn:
            paths.append(files[0])
    content = {"runs": list(runs), "figures": wanted, "paths": [path.name for path in paths]}
    if paths and not failed:
        write_json(stamp, content)
    return paths


class _DiskRefuses(Exception):
    """A figure that was drawn cannot be written: no other one can be, either."""

    def __init__(self, cause: UserError) -> None:
        self.cause = cause


def _drawn(make: Callable[[], Any], files: Sequence[Path]) -> bool:
    """Whether there was something to draw."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = make()
    if figure is None:
        return False
    figure.set_dpi(DPI)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # places and edges are found once for all files
    edges = figure.get_tightbbox().padded(matplotlib.rcParams["savefig.pad_inches"])
    for file in files:
        buffer = io.BytesIO()
        figure.savefig(buffer, format=file.suffix[1:], dpi=DPI, bbox_inches=edges)
        try:
            write_atomic(file, buffer.getvalue())
        except UserError as error:
            raise _DiskRefuses(error) from None
    plt.close(figure)
    return True
