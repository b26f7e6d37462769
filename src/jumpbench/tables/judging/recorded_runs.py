"""Runs of a record whose folders are elsewhere: a table goes on from what another machine made."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jumpbench.tables.judging.cells import Cell, Value, by_place
from jumpbench.tables.language.metric import Metric
from jumpbench.tables.planning.grid import GridCell
from jumpbench.tables.planning.run import Run
from jumpbench.tables.runs.codeage import is_outdated
from jumpbench.tables.runs.git import is_here

_COUNTED = re.compile(r"\d+ of \d+ seeds")
"""The note of a cell that merely lacks seeds."""


class RecordedRuns:
    """The runs of a record (the content of a ``table.json``) and their numbers.

    A cell holds one value a seed, and what stands beside it (what a perfect method scores, samples,
    the error of a run) as a mean over seeds; so that cells of recorded and further runs together
    are those of all these runs. A run is known by its identity: another configuration is another
    run.

    Raises:
        UserError: a cell of the record is damaged; ``where`` names the file.
    """

    def __init__(self, content: Mapping[str, Any], where: str) -> None:
        seeds = content.get("seeds") or ()
        self.seeds = [seed for seed in seeds if isinstance(seed, int) and 0 <= seed < 10**9]
        self.provenance: Mapping[str, Any] = content["provenance"]
        self._read: Mapping[str, Mapping[str, Any]] = content.get("read") or {}
        self._cells = by_place([Cell.from_json(cell, where) for cell in content["cells"]])

    @property
    def runs(self) -> set[str]:
        """The runs that its cells have numbers of."""
        return {value.run for cell in self._cells.values() for value in cell.values}

    def found(self, entry: GridCell, run: Run) -> tuple[Cell, Value] | None:
        """The recorded cell of an entry, and the value of a run in it; None if there is none.

        A metric that is read from another number of a run by now has no recorded value, and what
        stands beside a value (what a perfect method scores, deviations) is left out where that is
        read from another number. Earlier records do not say what was read.

        A break-even is computed from other cells: there the value is that of an error, as a sign
        that the run is recorded.
        """
        derived = entry.metric.break_even
        metric = derived.errors[0] if derived else entry.metric.name
        cell = self._cells.get((entry.row.name, entry.column.name, metric))
        if cell and not derived:
            cell = self._as_read_now(cell, entry.metric)
        values = cell.values if cell else ()
        for value in values:
            if cell and (value.run, value.seed) == (run.id, run.seed):
                return cell, value
        return None

    def _as_read_now(self, cell: Cell, metric: Metric) -> Cell | None:
        """A cell without what is read from other numbers of a run by now."""
        if (then := self._read.get(metric.name)) is None:
            return cell
        now = metric.read_as
        changed = {key for key in {*then, *now} if then.get(key) != now.get(key)}
        if changed & {"source", "factor"}:
            return None
        besides = {"perfect": "perfect", "sample_std": "std", "error": "run_error"}
        anew: dict[str, Any] = {besides[key]: None for key in changed & set(besides)}
        if "by_sample" in changed:
            anew["values"] = [replace(value, by_sample=None) for value in cell.values]
        return replace(cell, **anew)

    def failure(self, entry: GridCell, run: Run) -> str | None:
        """Why the recorded run of an entry has no number; None where the record does not say.

        A cell has one note: of several runs without a number each has the first one's. A seed that
        the record was not made with has not failed.
        """
        cell = self._cells.get((entry.row.name, entry.column.name, entry.metric.name))
        if cell is None or not cell.note or run.id in {value.run for value in cell.values}:
            return None
        failed = cell.status == "failed" and run.id in cell.run_ids
        tried = run.seed in self.seeds
        partial = tried and cell.status == "partial" and not _COUNTED.fullmatch(cell.note)
        return cell.note if failed or partial else None

    def left(self, grid: Iterable[GridCell]) -> list[GridCell]:
        """The grid without the runs that have a value in the record for each of their cells."""
        grid = list(grid)
        lacking = {
            run.id for entry in grid if entry.asked for run in entry.runs
            if self.found(entry, run) is None
        }  # fmt: skip
        return [
            replace(entry, runs=tuple(run for run in entry.runs if run.id in lacking))
            for entry in grid
        ]

    def lost(self, cells: Iterable[Cell]) -> list[tuple[str, str]]:
        """Rows and columns that have more seeds here than among these cells of the table.

        What the table no longer has is not counted.
        """
        now = _seeds(cells)
        return [place for place, n in _seeds(self._cells.values()).items() if n > now.get(place, n)]

    def origins(self, runs: Sequence[Run]) -> list[dict[str, Any]]:
        """Which code and machine made each of these runs, as ``provenance`` has it.

        Earlier records do not say which of their commits made which run: each is then said to be
        of all of them.
        """
        ids = [run.id for run in runs]
        known = [
            {**origin, "runs": kept}
            for origin in self.provenance.get("origins") or ()
            if (kept := {run: origin["runs"][run] for run in ids if run in origin["runs"]})
        ]
        named = {run for origin in known for run in origin["runs"]}
        if not (others := [run for run in ids if run not in named]):
            return known
        said = self.provenance
        each = float(said.get("run_seconds") or 0.0) / max(1, int(said.get("n_runs") or 1))
        whole = {"made_by": list(said.get("run_commits") or ()),
                 "hardware": list(said.get("hardware") or ()),
                 "runs": dict.fromkeys(others, round(each, 1))}  # fmt: skip
        return [*known, whole]

    def is_outdated(self, run: Run, origin: Mapping[str, Any]) -> bool:
        """Whether a run of the record is older than its code, or than that of a run it needs.

        Asked are, in this order: the digests of files that were not committed; ``same_at``, a
        commit that was found to give the same numbers, or else that of the run, and what changed
        since (:mod:`~jumpbench.tables.runs.codeage`); where that commit is not here, what the
        record said when it was made.
        """
        commits = [origin["same_at"]] if origin.get("same_at") else commits_of(origin)
        edited = origin.get("edited") or {}
        each = [one.config for one in run.with_needs()]
        if any(is_outdated(one, {"commit": c, "edited": edited}) for c in commits for one in each):
            return True
        known = bool(commits) and all(map(is_here, commits))
        return not known and run.id in (self.provenance.get("outdated_runs") or ())

    def seconds(self, places: Container[tuple[str, str | None]]) -> list[dict[str, Any]]:
        """What runs took, as the record has it: those of these rows and columns, or (None) what a
        row needs."""
        listed = self.provenance.get("seconds") or ()
        return [dict(one) for one in listed if (one["row"], one["column"]) in places]


def _seeds(cells: Iterable[Cell]) -> dict[tuple[str, str], int]:
    """How many seeds the metrics of each row and column have at most."""
    counts: dict[tuple[str, str], int] = {}
    for cell in cells:
        place = cell.row, cell.column
        counts[place] = max(counts.get(place, 0), len(cell.values))
    return counts


def commits_of(origin: Mapping[str, Any]) -> list[str]:
    """The commits that made the runs of an entry of :meth:`RecordedRuns.origins`."""
    if origin.get("commit"):
        return [origin["commit"]]
    found = (re.match("commit ([0-9a-f]{7,64})", version) for version in origin["made_by"])
    return [match[1] for match in found if match]
