"""Instances of the travelling salesman: the text format, generated labels, lists."""

import gzip
import os

import pytest
import torch

from jumpbench.data.tsp import (
    TspData,
    counter_clockwise,
    generated_tsp,
    load_tsp,
    parse_tsp,
    viewed,
)
from jumpbench.errors import DataCorrupt, DataMissing, UserError
from jumpbench.solvers.tours import tour_length

GOOD = "0.1 0.2 0.3 0.4 0.5 0.6 output 2 1 3 2\n"


def test_the_format():
    points, tours = parse_tsp(GOOD + "\n" + GOOD, 3, "file")
    assert points.shape == (2, 3, 2) and points[0, 1].tolist() == pytest.approx([0.3, 0.4])
    assert tours.tolist() == [[0, 2, 1]] * 2  # 2 1 3 2, rotated to start at the first city


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0.1 0.2 0.3 0.4 0.5 0.6 2 1 3 2", "no word 'output'|could not convert|coordinates"),
        ("0.1 0.2 0.3 0.4 output 2 1 3 2", r"4 coordinates, not 2 \* 3"),
        ("0.1 0.2 0.3 0.4 0.5 x output 2 1 3 2", "could not convert string to float: 'x'"),
        ("0.1 0.2 0.3 0.4 0.5 1.6 output 2 1 3 2", "outside the unit square"),
        ("0.1 0.2 0.3 0.4 0.5 nan output 2 1 3 2", "outside the unit square"),
        ("0.1 0.2 0.3 0.4 0.5 0.6 output 2 1 3", "not a closed tour"),
        ("0.1 0.2 0.3 0.4 0.5 0.6 output 2 1 1 2", "not a closed tour"),
        ("0.1 0.2 0.3 0.4 0.5 0.6 output", "not a closed tour"),
    ],
)
def test_errors_carry_the_line_number(line, message):
    with pytest.raises(DataCorrupt, match=rf"cities\.txt, line 3: .*({message})"):
        parse_tsp(GOOD + GOOD + line + "\n" + GOOD, 3, "cities.txt")
    with pytest.raises(DataCorrupt, match="no instance"):
        parse_tsp("\n", 3, "cities.txt")


def test_files_are_looked_for_in_order(tmp_path, monkeypatch):
    (tmp_path / "tsp").mkdir()
    (tmp_path / "tsp" / "second.txt.gz").write_bytes(gzip.compress(GOOD.encode()))
    data = TspData(
        3,
        train_files=["first.txt", "second.txt"],
        test_files=["second.txt"],
        train_batch_size=2,
        root=tmp_path,
    )
    data.setup()
    batch = data.on_after_batch_transfer(next(iter(data.train_dataloader())), 0)
    assert batch["order"].tolist() == [[0, 2, 1]] * 2
    assert data.n_samples == 1  # a shorter test file is taken whole
    with pytest.raises(DataMissing, match=r"put first\.txt or third\.txt"):
        load_tsp(["first.txt", "third.txt"], 3, tmp_path)
    with pytest.raises(UserError, match="the file has 1 instances"):
        TspData(3, train_files=["second.txt"], train_size=5, root=tmp_path).setup("fit")
    (tmp_path / "tsp" / "tsp20_test.txt").write_text(GOOD)
    with pytest.raises(DataCorrupt, match=r"tsp20_test\.txt is not the published file"):
        load_tsp(["tsp20_test.txt"], 20, tmp_path)


def test_a_missing_test_file_is_told_before_training(tmp_path, monkeypatch):
    """Also before any training instance is solved."""
    monkeypatch.setattr("jumpbench.data.tsp.solve_tours", lambda *_: pytest.fail("solved tours"))
    data = TspData(6, train_size=10, test_files=["nowhere.txt"], root=tmp_path)
    with pytest.raises(DataMissing, match=r"put nowhere\.txt"):
        data.setup("fit")


def test_generated_instances_have_optimal_tours_that_run_counter_clockwise():
    points, tours = generated_tsp(20, 6, "train")
    assert (tours[:, 0] == 0).all()
    ordered = points[torch.arange(20).unsqueeze(1), tours].tolist()
    for polygon in ordered:
        edges = zip(polygon, polygon[1:] + polygon[:1], strict=True)
        assert sum(a[0] * b[1] - a[1] * b[0] for a, b in edges) > 0  # counter-clockwise
    best = tour_length(points, tours)
    generator = torch.Generator().manual_seed(0)
    others = torch.rand(20, 200, 6, generator=generator).argsort(-1)
    assert (tour_length(points.unsqueeze(1), others).amin(1) >= best - 1e-9).all()
    again, _ = generated_tsp.__wrapped__(20, 6, "train")
    assert torch.equal(points, again)
    assert not torch.equal(points, generated_tsp(20, 6, "test")[0])


def test_views_are_the_same_instances():
    """Equal optimal lengths, tours from city 0 and counter-clockwise; all 8 n of them differ."""
    points, tours = generated_tsp(1, 6, "train")
    symmetry, start = torch.meshgrid(torch.arange(8), torch.arange(6), indexing="ij")
    symmetry, start = symmetry.flatten(), start.flatten()
    seen, order = viewed(points.expand(48, -1, -1), tours.expand(48, -1), symmetry, start)
    assert ((seen >= 0) & (seen <= 1)).all() and (order[:, 0] == 0).all()
    torch.testing.assert_close(
        tour_length(seen, order), tour_length(points, tours).expand(48), rtol=0, atol=1e-6
    )
    assert torch.equal(counter_clockwise(seen, order), order)
    assert torch.equal(seen[0], points[0]) and torch.equal(order[0], tours[0])
    assert seen.flatten(1).unique(dim=0).shape[0] == 48
    data = TspData(6, train_batch_size=4, train_size=8, n_samples=2, views=True)
    data.setup()
    draw = next(iter(data.train_dataloader()))
    batch = data.on_after_batch_transfer(draw, 0)
    again = viewed(*generated_tsp(8, 6, "train"), torch.zeros(8).long(), torch.zeros(8).long())
    torch.testing.assert_close(
        tour_length(batch["objects"], batch["order"]), tour_length(*again)[draw["train"]]
    )
    with pytest.raises(UserError, match="for generated instances only"):
        TspData(6, train_files=["some.txt"], views=True)


def test_lists_and_bad_settings():
    data = TspData(5, train_batch_size=4, train_size=8, n_samples=6, batch_size=4)
    data.setup()
    for loader in (data.train_dataloader(), data.test_dataloader()):
        batch = data.on_after_batch_transfer(next(iter(loader)), 0)
        assert batch["objects"].shape == (4, 5, 2) and (batch["order"][:, 0] == 0).all()
    with pytest.raises(UserError, match="train_files, or a train_size"):
        TspData(5).setup("fit")


@pytest.mark.skipif(
    not os.path.isdir(os.path.join(os.environ.get("JUMPBENCH_DATA", "data"), "tsp")),
    reason="tsp files are absent",
)
@pytest.mark.parametrize(
    ("name", "n", "size", "mean"),
    [("tsp20_test.txt", 20, 500, 3.8487), ("tsp50_test.txt", 50, 1000, 5.6871)],
)
def test_real_files(name, n, size, mean):
    points, tours = load_tsp([name], n)
    lengths = tour_length(points, tours)
    assert len(points) == size and lengths.mean().item() == pytest.approx(mean, abs=1e-4)
    rotated = tour_length(points, tours.roll(3, -1).flip(-1))  # oracle 16
    torch.testing.assert_close(lengths, rotated)
