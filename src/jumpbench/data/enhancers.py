"""Enhancers: DNA sequences with measured activities, from any table, and generated ones."""

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jumpbench.data.files import DataFile, read
from jumpbench.data.motifs import ALPHABET, NOISE, MotifActivity, planted
from jumpbench.data.tokens import Batch, TokenData
from jumpbench.errors import DataCorrupt, UserError
from jumpbench.paths import data_root
from jumpbench.seeding import make_generator

HALVES = tuple(tuple(f"chr{i}" for i in part) for part in (range(1, 12), range(12, 23)))
"""Chromosomes of the guiding and of the judging oracle (SGDD after DRAKES)."""


class SequenceTable(TokenData):
    """Sequences of one length from a table with a header, one a line, over A, C, G, T = 0..3.

    Batches have ``states``; ``activities`` (B, k), float32, if columns are named for them;
    ``labels`` (B,), 0 or 1, if one is. A sequence that occurs twice counts once, the first time.
    Every tenth sequence (by the md5 of its letters) is a test sequence, so the splits of a table
    never share one, in whatever order it is stored.

    Args:
        dataset: folder below the data root.
        file: name without a compression suffix.
        length: D.
        sequence: column of the sequences.
        activities: columns of the measured activities.
        label: column of 0 or 1.
        half: 0 or 1 keeps one of two halves that share no sequence; None keeps all.
        group: column whose values decide the half (``halves``); without, the sequence decides.
        halves: values of ``group`` in each half; rows with other values are in none.
        delimiter: between columns.
        md5: of the unpacked file, where it is known.
        root: data root.
        sizes: see :class:`~jumpbench.data.tokens.TokenData`.

    Raises:
        DataMissing, DataCorrupt: (when read) no such file; another checksum.
        UserError: (when read) a column that is not there, other letters, other lengths, no number.
    """

    n_states = len(ALPHABET)

    def __init__(
        self,
        dataset: str,
        file: str,
        length: int,
        sequence: str = "seq",
        activities: Sequence[str] = (),
        label: str | None = None,
        half: int | None = None,
        group: str | None = None,
        halves: Sequence[Sequence[str]] = HALVES,
        delimiter: str = ",",
        md5: str | None = None,
        root: str | Path | None = None,
        **sizes: int,
    ) -> None:
        super().__init__(**sizes)
        if half not in (None, 0, 1):
            raise UserError(f"half={half}: a table has the halves 0 and 1, null takes both")
        self.dataset, self.length, self.root = dataset, length, root
        self.file = DataFile(file, (md5,) if md5 else ())
        self.sequence, self.activities, self.label = sequence, tuple(activities), label
        self.half, self.group, self.halves = half, group, halves
        self.delimiter = delimiter

    def load(self, split: str) -> Batch:
        table, names = self._table(), (self.sequence, *self.activities)
        names += tuple(name for name in (self.label, self.group) if name)
        columns = {name: self._column(table, name) for name in dict.fromkeys(names)}
        sequences = np.char.upper(np.asarray(columns[self.sequence], dtype=np.str_))
        _, first = np.unique(sequences, return_index=True)
        digests = [_digest(text) for text in sequences]
        keep = np.zeros(len(sequences), dtype=bool)
        keep[first] = True
        keep &= np.array([(d % 10 == 9) == (split == "test") for d in digests])
        if self.half is not None:
            keep &= self._in_half(columns, digests)
        if not keep.any():
            raise UserError(f"{self._path}: no {split} sequences in half {self.half}")
        rows: Batch = {"states": self._states(sequences[keep], np.flatnonzero(keep))}
        if self.activities:
            numbers = [self._numbers(columns[name], name)[keep] for name in self.activities]
            rows["activities"] = torch.from_numpy(np.stack(numbers, 1).astype(np.float32))
        if self.label:
            labels = self._numbers(columns[self.label], self.label)[keep]
            if not np.isin(labels, (0, 1)).all():
                raise UserError(f"{self._path}: column {self.label} has values beside 0 and 1")
            rows["labels"] = torch.from_numpy(labels.astype(np.int64))
        return rows

    @property
    def _path(self) -> Path:
        return data_root(self.root) / self.dataset / self.file.name

    def _table(self) -> list[dict[str, str]]:
        try:
            text = read(self.dataset, self.file, self.root).decode("utf-8")
        except UnicodeDecodeError:
            raise DataCorrupt(f"{self._path} is no text; fetch it again") from None
        table = list(csv.DictReader(io.StringIO(text), delimiter=self.delimiter))
        if not table:
            raise UserError(f"{self._path} has no rows below its header")
        return table

    def _column(self, table: list[dict[str, Any]], name: str) -> list[str]:
        if name not in table[0]:
            known = ", ".join(str(column) for column in table[0])
            raise UserError(f"{self._path} has no column '{name}'; it has: {known}")
        column: list[Any] = [row[name] for row in table]
        if None in column:
            raise UserError(f"{self._path} line {column.index(None) + 2} ends before '{name}'")
        return column

    def _in_half(self, columns: Mapping[str, list[str]], digests: list[int]) -> np.ndarray:
        if self.group is None:
            return np.array([d // 10 % 2 == self.half for d in digests])
        return np.isin(columns[self.group], list(self.halves[self.half or 0]))

    def _states(self, sequences: np.ndarray, rows: np.ndarray) -> Tensor:
        lengths = np.char.str_len(sequences)
        if (lengths != self.length).any():
            i = int((lengths != self.length).argmax())
            raise UserError(
                f"{self._path} line {rows[i] + 2}: a sequence of {lengths[i]} letters, not "
                f"{self.length}; set length, or cut the sequences to one"
            )
        letters = np.frombuffer("".join(sequences).encode("latin-1", "replace"), np.uint8)
        code = np.full(256, len(ALPHABET), np.uint8)
        code[np.frombuffer(ALPHABET.encode(), np.uint8)] = range(len(ALPHABET))
        states = code[letters].reshape(len(sequences), self.length)
        if (states == len(ALPHABET)).any():
            i, j = np.argwhere(states == len(ALPHABET))[0]
            raise UserError(
                f"{self._path} line {rows[i] + 2}: the letter '{sequences[i][j]}' at place {j + 1};"
                f" sequences are over {', '.join(ALPHABET)}"
            )
        return torch.from_numpy(states)

    def _numbers(self, column: list[str], name: str) -> np.ndarray:
        for i, text in enumerate(column):
            try:
                good = np.isfinite(float(text))
            except ValueError:
                good = False
            if not good:
                raise UserError(
                    f"{self._path} line {i + 2}: '{text[:20]}' in column {name} is no finite number"
                )
        return np.array(column, dtype=np.float64)


class MotifEnhancers(TokenData):
    """Generated enhancers with ``activities`` (B, 3) and ``labels``, 1 if accessible: no files.

    Sequences of :func:`~jumpbench.data.motifs.planted`, activities of
    :class:`~jumpbench.data.motifs.MotifActivity` with normal noise of standard deviation 0.3,
    labels drawn with its probabilities. The halves are as large and are drawn apart.

    Args:
        length: D.
        generated: training sequences of a half. Test sequences are as many as ``n_samples`` says.
        half: 0 or 1; None: both.
        sizes: see :class:`~jumpbench.data.tokens.TokenData`.
    """

    n_states = len(ALPHABET)

    def __init__(
        self, length: int = 200, generated: int = 10000, half: int | None = None, **sizes: int
    ) -> None:
        super().__init__(**sizes)
        if half not in (None, 0, 1):
            raise UserError(f"half={half}: there are the halves 0 and 1, null takes both")
        if length < 8:
            raise UserError(f"length={length}: the planted motifs have 8 letters")
        self.length, self.generated, self.half = length, generated, half

    def load(self, split: str) -> Batch:
        count = self.generated if split == "train" else self.n_samples
        halves = (0, 1) if self.half is None else (self.half,)
        parts = [self._drawn(make_generator(0, "motifs", split, h), count) for h in halves]
        return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}

    def _drawn(self, generator: torch.Generator, count: int) -> Batch:
        states, truth = planted(count, self.length, generator), MotifActivity()
        clean = truth(states)
        noise = NOISE * torch.randn(clean.shape, generator=generator)
        accessible = torch.rand(count, generator=generator) < truth.accessible(states)
        return {
            "states": states.to(torch.uint8),
            "activities": clean + noise,
            "labels": accessible.long(),
        }


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[:6], "big")


def verify_gosai(root: str | Path | None = None) -> str:
    """Read the tables of Gosai et al.: sequences of 200 letters, three activities, chromosomes."""
    measured = ("hepg2", "k562", "sknsh")
    prior = SequenceTable("gosai", "gosai_all.csv", 200, activities=measured, root=root)
    oracle = SequenceTable(
        "gosai", "dataset.csv", 200, activities=measured, half=0, group="chrom", root=root
    )
    counts = [len(data.split("train")["states"]) for data in (prior, oracle)]
    return f"{counts[0]} training sequences of the prior, {counts[1]} of the guiding oracle"
