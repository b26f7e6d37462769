"""The runs of the suite's tables, kept on disk between calls.

Planning takes two milliseconds a run, and the tables of all papers together have thousands. What
is kept of a table at a scale holds as long as no configuration file and no source file changes:
both decide a run's identity. Nothing is kept of a call with overrides, or with files of one's own.
"""

import contextlib
import dataclasses
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.files import write_atomic
from jumpbench.paths import cache_folder, conf_dirs, suite_root
from jumpbench.tables.language.scale import Scale
from jumpbench.tables.language.types import Table
from jumpbench.tables.planning.models import is_model
from jumpbench.tables.planning.run import Run

_PACKAGE = Path(__file__).resolve().parents[3]


class PlannedRuns:
    """Runs of the cells of one table at one scale, by row, column and seed."""

    def __init__(self, path: Path | None, name: str) -> None:
        self._path, self._name = path, name
        self._cells: dict[str, str] = {}
        self._plain: dict[str, dict[str, Any]] = {}
        self._runs: dict[str, Run] = {}
        self._is_new = False
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            entry: Any = json.loads(path.read_text(encoding="utf-8")) if path else {}
            if entry["name"] == name:
                self._cells, self._plain = dict(entry["cells"]), dict(entry["runs"])

    def run(self, row: str, column: str, seed: int) -> Run | None:
        """The run that was kept for a cell; None if there is none."""
        with contextlib.suppress(KeyError, TypeError):
            return self._of(self._cells[_cell(row, column, seed)])
        return None

    def _of(self, key: str) -> Run:
        if key not in self._runs:
            plain = self._plain[key]
            needs = {name: self._of(need) for name, need in plain["needs"].items()}
            self._runs[key] = Run(**{**plain, "needs": needs})
        return self._runs[key]

    def keep(self, row: str, column: str, seed: int, run: Run) -> None:
        """Keep a run that was planned for a cell, unless it starts from a model's file."""
        if any(is_model(v) for each in run.with_needs() for v in each.config["needs"].values()):
            return
        self._cells[_cell(row, column, seed)] = self._added(run)
        self._is_new = True

    def _added(self, run: Run) -> str:
        plain = {
            "slug": run.slug, "name": run.name, "hash": run.hash, "config": run.config,
            "needs": {name: self._added(need) for name, need in run.needs.items()},
        }  # fmt: skip
        # Runs of one identity may differ in what no result depends on.
        key = hashlib.sha256(json.dumps(plain, default=str).encode()).hexdigest()[:16]
        self._plain[key] = plain
        return key

    def save(self) -> None:
        """Write what is new, unless json would make something else of it."""
        if self._path is None or not self._is_new:
            return
        entry = {"name": self._name, "cells": self._cells, "runs": self._plain}
        text = json.dumps(entry, default=str)
        if json.loads(text)["runs"] == self._plain:
            with contextlib.suppress(OSError, UserError):
                write_atomic(self._path, text)
        self._is_new = False


@contextlib.contextmanager
def planned_runs(table: Table, scale: Scale, overrides: tuple[str, ...]) -> Iterator[PlannedRuns]:
    """What is kept of a table at a scale; what is planned meanwhile is kept too."""
    folder = cache_folder("plans") if not overrides and _is_the_suites(table) else None
    says = dataclasses.replace(table, metrics={}, scales={}, claims=(), published={})
    name = hashlib.sha256(repr((says, scale, folder and _state())).encode()).hexdigest()
    path = folder / f"{table.id.replace('/', '-')}.{scale.name}.json" if folder else None
    kept = PlannedRuns(path, name)
    yield kept
    kept.save()


def forget() -> None:
    """Look at the files again."""
    _state.cache_clear()
    replaced_files.cache_clear()


@functools.cache
def replaced_files() -> tuple[Path, ...]:
    """Files of one's own that stand in the place of another one of the suite."""
    *own, suites = conf_dirs()
    return tuple(
        file
        for folder in own
        for file in sorted(folder.rglob("*.yaml"))
        if (ours := suites / file.relative_to(folder)).is_file()
        and ours.read_bytes() != file.read_bytes()
    )


def _cell(row: str, column: str, seed: int) -> str:
    return json.dumps([row, column, seed])


def _is_the_suites(table: Table) -> bool:
    suites = (suite_root() / "reproduce").resolve()
    return len(conf_dirs()) == 1 and Path(table.file).resolve().is_relative_to(suites)


@functools.cache
def _state() -> str:
    """Of all configuration and source files: names, sizes and times of their last change."""
    made_by = [importlib.metadata.version(name) for name in ("hydra-core", "omegaconf")]
    versions = [*made_by, platform.python_version()]
    files = [
        (entry.path, entry.stat().st_size, entry.stat().st_mtime_ns)
        for root, ending in ((conf_dirs()[0], ".yaml"), (_PACKAGE, ".py"))
        for entry in _files(str(root))
        if entry.name.endswith(ending)
    ]
    return hashlib.sha256(repr((versions, sorted(files))).encode()).hexdigest()


def _files(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path)
            else:
                yield entry
