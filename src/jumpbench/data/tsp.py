"""Euclidean travelling salesman instances with a tour each, from files or generated."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from jumpbench.data.files import DataFile, located, origin, read
from jumpbench.data.lists import Batch, EpochOrder, ListData, take_rows
from jumpbench.errors import DataCorrupt, DataMissing, UserError
from jumpbench.paths import data_root
from jumpbench.seeding import make_generator
from jumpbench.solvers.tour_solvers import solve_tours
from jumpbench.solvers.tours import tour_length

# Known test files; any other file is checked line by line only.
MD5 = {
    "tsp_10_test_exact.txt": "a44b386fd81bf8b30ab440dd164d8ebc",
    "tsp20_test.txt": "2f9e8d09d29dc53c3ec21451681bcf4c",
    "tsp50_test.txt": "4157da293c12ea6d13156fa157be564e",
    "tsp100_test.txt": "3f21de06652b333a5bd9d009818ac3d9",
}


class TspData(ListData):
    """Instances of ``length`` points in the unit square; ``order`` is a tour from city 0.

    City 0, the first of the file, stands first in every list and in every order; nothing else is
    shuffled, the points of an instance being in random order by themselves.

    Args:
        length: number of cities.
        train_files: names under ``tsp/`` to look for, in this order; none: generate.
        train_size: number of training instances, of the file (None: all) or generated.
        test_files: the same for the test set.
        n_samples: number of test instances, the first of the file or generated.
        views: show every generated training instance in a random one of its 8 n views (symmetries
            of the square, first cities), all as likely as itself: labels are the expensive part.
        root: data root.

    Generated points are uniform, by a fixed seed; their tours come from
    :func:`~jumpbench.solvers.tour_solvers.solve_tours` (exact up to 12 cities, local search beyond)
    and run counter-clockwise, so that the points decide the label: a network that does not see
    the numbers of the cities could not know either direction. Tours of files keep theirs.
    """

    def __init__(
        self,
        length: int,
        train_batch_size: int = 512,
        train_files: Sequence[str] = (),
        train_size: int | None = None,
        test_files: Sequence[str] = (),
        n_samples: int = 1280,
        batch_size: int = 64,
        seed: int = 0,
        views: bool = False,
        root: str | Path | None = None,
    ) -> None:
        super().__init__(length, train_batch_size, n_samples, batch_size, seed=seed)
        if views and train_files:
            raise UserError("data.views turns tours: it is for generated instances only")
        self.views = views
        self.train_files = tuple(train_files)
        self.test_files = tuple(test_files)
        self.train_size = train_size
        self.root = root
        self._tables: dict[str, Tensor] = {}

    def setup(self, stage: str | None = None) -> None:
        # Solvers have a test stage only, and need no training instances.
        splits = {"fit": ["train"], "test": ["test"]}.get(stage or "", ["train", "test"])
        if self.test_files:  # what is not there is told before the training
            load_tsp(self.test_files, self.length, self.root)
        for split in splits:
            if f"{split}_points" not in self._tables:
                points, tours = self._instances(split)
                self._tables |= {f"{split}_points": points, f"{split}_tours": tours}
                self._resident.clear()
        if "train" in splits:
            self._epochs = EpochOrder(len(self._tables["train_points"]), self.seed)

    def _instances(self, split: str) -> tuple[Tensor, Tensor]:
        files, size = {
            "train": (self.train_files, self.train_size),
            "test": (self.test_files, self.n_samples),
        }[split]
        if not files and not size:
            raise UserError("give train_files, or a train_size to generate")
        if not files:
            return generated_tsp(size, self.length, split)
        points, tours = load_tsp(files, self.length, self.root)
        if size is not None and size > len(points):
            if split == "train":
                raise UserError(f"train_size={size}, but the file has {len(points)} instances")
            self.n_samples = len(points)
        return points[:size], tours[:size]

    def tables(self) -> dict[str, Tensor]:
        return self._tables

    def draw(self, split: str, size: int, generator: torch.Generator, first: int) -> Batch:
        if split == "test":
            return {"test": torch.arange(first, first + size)}
        taken = {"train": self._epochs.take(first, size)}
        if self.views:
            taken["symmetry"] = torch.randint(8, (size,), generator=generator)
            taken["start"] = torch.randint(self.length, (size,), generator=generator)
        return taken

    def assemble(self, draw: Batch, tables: dict[str, Tensor]) -> Batch:
        split, index = next(iter(draw.items()))
        points, order = tables[f"{split}_points"][index], tables[f"{split}_tours"][index]
        if "symmetry" in draw:
            points, order = viewed(points, order, draw["symmetry"], draw["start"])
        groups = torch.arange(self.length, device=index.device).expand(len(index), -1)
        return {"objects": points, "order": order, "groups": groups}


def load_tsp(
    names: Sequence[str], length: int, root: str | Path | None = None
) -> tuple[Tensor, Tensor]:
    """Points float (N, n, 2) and tours long (N, n) from the first of ``names`` under ``tsp/``.

    Raises:
        DataMissing: none of the files is there.
        DataCorrupt: wrong checksum, or a bad line (the message has its number).
    """
    return _load(tuple(names), length, str(root) if root is not None else None)


@lru_cache(maxsize=4)
def _load(names: tuple[str, ...], length: int, root: str | None) -> tuple[Tensor, Tensor]:
    for name in names:
        file = DataFile(name, (MD5[name],) if name in MD5 else ())
        if located("tsp", file, root) is not None:
            text = read("tsp", file, root).decode(errors="replace")
            return parse_tsp(text, length, name)
    raise DataMissing(
        f"tsp: put {' or '.join(names)} (loose, .gz or .xz) into "
        f"{(data_root(root) / 'tsp').absolute()}{origin('tsp')}"
    )


def parse_tsp(text: str, length: int, name: str) -> tuple[Tensor, Tensor]:
    """Instances of the text format ``x1 y1 x2 y2 ... output i1 i2 ... i1``, one a line.

    Tours are closed, from 1 in the file, from 0 here, rotated to start at city 0. Raises
    :class:`~jumpbench.errors.DataCorrupt` with the number of the first bad line.
    """
    points, tours = [], []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        head, separator, tail = line.partition("output")
        try:
            numbers, tour = [float(x) for x in head.split()], [int(i) for i in tail.split()]
        except ValueError as error:
            raise DataCorrupt(f"{where}: {error}") from error
        if not separator:
            raise DataCorrupt(f"{where}: no word 'output' between the points and the tour")
        if len(numbers) != 2 * length:
            raise DataCorrupt(f"{where}: {len(numbers)} coordinates, not 2 * {length}")
        if any(not 0 <= x <= 1 for x in numbers):
            raise DataCorrupt(f"{where}: a coordinate lies outside the unit square")
        if tour[-1:] != tour[:1] or sorted(tour[:-1]) != list(range(1, length + 1)):
            raise DataCorrupt(f"{where}: not a closed tour of the cities 1 to {length}")
        points.append(numbers)
        tours.append(tour[:-1])
    if not points:
        raise DataCorrupt(f"{name}: no instance in the file")
    order = torch.tensor(tours) - 1
    start = (order == 0).int().argmax(-1, keepdim=True)
    rotated = order.gather(-1, (start + torch.arange(length)) % length)
    return torch.tensor(points).view(-1, length, 2), rotated


@lru_cache(maxsize=4)
def generated_tsp(size: int, length: int, split: str) -> tuple[Tensor, Tensor]:
    """``size`` uniform instances and their tours, always the same for a split."""
    generator = make_generator(0, "tsp", split, length)
    points = torch.rand(size, length, 2, generator=generator)
    return points, counter_clockwise(points, solve_tours(points, generator))


def viewed(points: Tensor, tours: Tensor, symmetry: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
    """Instances (B, n, 2) in another view, with their tours, again counter-clockwise from city 0.

    The bits of ``symmetry`` (B,) mirror x, mirror y, exchange the axes; city ``start`` (B,) becomes
    city 0, the others follow in their order.
    """
    mirror_x, mirror_y, swap = ((symmetry // 2**k % 2 == 1).view(-1, 1, 1) for k in range(3))
    mirrored = torch.where(torch.cat([mirror_x, mirror_y], dim=-1), 1 - points, points)
    mirrored = torch.where(swap, mirrored.flip(-1), mirrored)
    n, start = tours.shape[-1], start.unsqueeze(-1)
    place = torch.arange(n, device=tours.device)
    turned = take_rows(mirrored, (place + start) % n)
    renamed = (tours - start) % n
    first = (renamed == 0).int().argmax(-1, keepdim=True)
    return turned, counter_clockwise(turned, renamed.gather(-1, (first + place) % n))


def counter_clockwise(points: Tensor, tours: Tensor) -> Tensor:
    """The same tours (N, n) from their first city, run through with the inside on the left.

    The sign is that of the enclosed area, which a shortest tour, having no crossing, encloses.
    """
    ordered = take_rows(points, tours).double()
    x, y = ordered.unbind(-1)
    area = (x * y.roll(-1, -1) - y * x.roll(-1, -1)).sum(-1, keepdim=True)
    backward = torch.cat([tours[:, :1], tours[:, 1:].flip(-1)], dim=-1)
    return torch.where(area >= 0, tours, backward)


def verify(root: str | Path | None = None) -> str:
    """Read and verify the known test files that are there; at least one must be."""
    lines = []
    for name, length in zip(MD5, (10, 20, 50, 100), strict=True):
        if located("tsp", DataFile(name), root) is not None:
            points, tours = load_tsp((name,), length, root)
            mean = tour_length(points, tours).mean()
            lines.append(f"{name}: {len(points)} instances, mean length {mean:.4f}")
    if not lines:
        load_tsp(tuple(MD5), 0, root)
    return "; ".join(lines)
