"""``jumpbench data``: whether the datasets are there and whole; some are fetched."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from jumpbench.errors import DataMissing, UserError
from jumpbench.names import no_such
from jumpbench.tables.views.console import console, words

if TYPE_CHECKING:
    from jumpbench.data.catalog import Dataset


def print_data(names: Sequence[str], places: Sequence[str] = ()) -> bool:
    """Verify the named datasets, all if none is named, and those of ``NAME=PATH`` at their places.

    What is absent is fetched where that is possible: large archives for a named dataset alone.
    """
    from jumpbench.data.catalog import datasets
    from jumpbench.data.places import verify_at
    from jumpbench.data.published import confirm
    from jumpbench.paths import data_root

    known = datasets()
    data_root()  # one that cannot be is told once
    asked = [(name, "") for name in names] + [(n, p) for n, _, p in map(_parted, places)]
    for name, _ in asked:
        if name not in known:
            raise no_such("dataset", name, list(known))
    out, good = console(), True
    for name, place in asked or [(name, "") for name in known]:
        dataset = known[name]
        used = f" (used by {', '.join(dataset.used_by)})" if dataset.used_by else ""
        out.print(words(out, f"{name}: {dataset.about}{used}"), soft_wrap=True)
        print(f"reading {place or name} ...", file=sys.stderr, flush=True)
        try:
            if place:
                state = verify_at(dataset, place)
            else:
                state = (_had(dataset) if names else dataset.verify()) + confirm(name)
            style = "green"
        except UserError as error:
            good = False
            word = "missing" if isinstance(error, DataMissing) else "corrupt"
            state, style = f"{word}: {error}", "red"
        out.print(words(out, f"  {state}", style), soft_wrap=True)
    return good


def _parted(place: str) -> tuple[str, str, str]:
    """NAME, =, PATH.

    Raises:
        UserError: no path.
    """
    name, equals, path = place.partition("=")
    if not path:
        raise UserError(f"{place[:40]}: give NAME=PATH")
    return name, equals, path


def _had(dataset: "Dataset") -> str:
    """Verify a dataset; one that is absent is fetched first, if its address is known."""
    from jumpbench.data.files import FETCHED
    from jumpbench.data.published import fetch

    try:
        return dataset.verify()
    except DataMissing:
        if dataset.name not in FETCHED:
            raise
    with Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(),
        TransferSpeedColumn(), TimeRemainingColumn(), console=console(stderr=True),
        transient=True, disable=not console(stderr=True).is_terminal,
    ) as bars:  # fmt: skip
        lines: dict[str, TaskID] = {}

        def told(file: str, done: int, total: int | None) -> None:
            if file not in lines:
                lines[file] = bars.add_task(file)
                print(f"fetching {file} ...", file=sys.stderr, flush=True)
            bars.update(lines[file], completed=done, total=total)

        fetch(dataset.name, told=told)
    return dataset.verify()
