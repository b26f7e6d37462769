"""What says the seed of a run: a list of seeds, never an override.

The runs of a cell are those of its seeds, which replace the seed of a configuration. An override of
it would be dropped, or give one run several names.
"""

from collections.abc import Callable, Iterator, Sequence

from jumpbench.tables.language.types import Table

Wrong = Callable[[tuple, str], Exception]


def sets_seed(override: str) -> bool:
    """Whether an override (``seed=7``) is of the seed of the run itself, not of one it needs."""
    return override.split("=")[0].lstrip("+~") == "seed"


def check_seeds(table: Table, wrong: Wrong) -> None:
    """Raises ``wrong(place, what)`` for the first override of a run's seed."""
    for place, overrides in _lists(table):
        for i, text in enumerate(overrides):
            if sets_seed(text):
                what = "leave it out; give seeds: in the scale or row, or seeds=[7] in the call"
                raise wrong((*place, i), f"{text[:40]}: {what}")


def _lists(table: Table) -> Iterator[tuple[tuple, Sequence[str]]]:
    """Where each list of overrides of runs stands, and the list."""
    yield ("overrides",), table.overrides
    for i, row in enumerate(table.rows):
        yield ("rows", i, "overrides"), row.overrides
        for name, overrides in row.columns.items():
            yield ("rows", i, "columns", name), overrides
    for i, column in enumerate(table.columns):
        yield ("columns", i, "overrides"), column.overrides
    for name, scale in table.scales.items():
        yield ("scales", name, "overrides"), scale.overrides
        for kind, lists in (("rows", scale.rows), ("columns", scale.columns)):
            for key, overrides in lists.items():
                yield ("scales", name, kind, key), overrides
