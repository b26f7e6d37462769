"""Figures of ordered lists: what stands where, which pieces are framed, tours as drawn."""

import matplotlib.pyplot as plt
import pytest
import torch

from jumpbench.methods.symmetric_diffusers.list_figures import RIGHT, WRONG, pieces_in_order, tours
from jumpbench.processes.permutations import apply
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.views.filled import Filled
from support import OwnHeads


class Table(OwnHeads):
    """One column whose runs were given ``batch`` and drew ``orders[row]``."""

    def __init__(self, batch, orders):
        self.batch, self.orders, self.rows, self.columns = batch, orders, tuple(orders), ("3x3",)

    def artifact(self, row, column):
        order = self.orders.get(row) if column in self.columns else None
        return None if order is None else {"samples": order}

    def tested(self, row, column, size):
        return {name: value[:size] for name, value in self.batch.items()}


@pytest.fixture(autouse=True)
def closed():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


def jigsaw(lists=2, n=9, side=4):
    shades = torch.linspace(0, 1, n)[:, None, None, None].expand(n, 1, side, side)
    shuffle = torch.stack([torch.randperm(n, generator=torch.Generator().manual_seed(i))
                           for i in range(lists)])  # fmt: skip
    return {"objects": shades[shuffle], "order": shuffle.argsort(-1), "groups": shuffle.clone()}


def test_solved_pieces_lie_in_order_and_the_wrong_ones_are_framed():
    batch = jigsaw()
    right = batch["order"]
    exchanged = right[:, [1, 0, *range(2, 9)]]
    figure = pieces_in_order(Table(batch, {"right": right, "wrong": exchanged}))
    (axis,) = figure.axes
    names = [label.get_text() for label in axis.get_yticklabels()]
    assert names == ["presented", "right", "wrong"]
    page = torch.as_tensor(axis.images[0].get_array())
    # Three lines of two lists of 3 x 3 pieces of 4 pixels in a frame of one, an edge of three.
    lists = page.view(3, 24, 2, 24, 3).permute(0, 2, 1, 3, 4)[:, :, 3:-3, 3:-3]
    pieces = lists.reshape(3, 2, 3, 6, 3, 6, 3).transpose(3, 4).reshape(3, 2, 9, 6, 6, 3)
    shown = pieces[..., 1:-1, 1:-1, 0].mean((-1, -2))
    expected = batch["objects"].flatten(2).mean(-1)
    assert torch.allclose(shown[0], expected)
    assert torch.allclose(shown[1], torch.linspace(0, 1, 9).expand(2, 9))
    assert torch.allclose(shown[2], apply(exchanged, expected))
    frames = pieces[:, 0, :, 0, 0]  # (line, piece, colour)
    assert torch.allclose(frames[:2], torch.tensor(RIGHT).expand(2, 9, 3))
    assert torch.allclose(frames[2, :2], torch.tensor(WRONG).expand(2, 3))
    assert torch.allclose(frames[2, 2:], torch.tensor(RIGHT).expand(7, 3))


def test_look_alikes_may_change_places():
    batch = jigsaw(lists=1)
    batch["groups"] = batch["groups"].clamp_max(7)  # the last two cannot be told apart
    exchanged = batch["order"][:, [*range(7), 8, 7]]
    figure = pieces_in_order(Table(batch, {"row": exchanged}))
    page = torch.as_tensor(figure.axes[0].images[0].get_array())
    assert not (page == torch.tensor(WRONG)).all(-1).any()


def test_nothing_is_drawn_of_nothing_and_lists_may_be_one_line():
    assert pieces_in_order(Table(jigsaw(), {})) is None and tours(Table(jigsaw(), {})) is None
    batch = jigsaw(lists=1, n=5)
    figure = pieces_in_order(Table(batch, {"row": batch["order"]}), across=9)
    assert figure.axes[0].images[0].get_array().shape == (2 * 12, 5 * 6 + 6, 3)


def test_a_tour_is_closed_and_its_gap_is_against_the_label():
    square = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]])
    batch = {"objects": square, "order": torch.tensor([[0, 1, 2, 3]])}
    orders = {"best": batch["order"], "crossed": batch["order"][:, [0, 2, 1, 3]]}
    figure = tours(Table(batch, orders), count=1)
    best, crossed = figure.axes
    assert best.get_title() == "gap 0.00 %" and crossed.get_title() == "gap 20.71 %"
    line = best.lines[0].get_xydata()
    assert (line[0] == line[-1]).all() and len(line) == 5


def test_the_lists_are_those_that_the_run_was_tested_on(tmp_path):
    """Of whatever size the batches of the run were."""
    table = load("symmetric_diffusers/table3")
    grid = build(table, Selection("smoke"))
    cell = next(cell for cell in grid if cell.runs)
    run = cell.runs[0]
    run.folder.mkdir(parents=True)
    (run.folder / "metrics.json").write_text('{"metrics": {}}')
    torch.save({"samples": torch.zeros(3, 5)}, run.folder / "samples.pt")
    filled = Filled(table, grid, (), "smoke")
    few, more = (filled.tested(cell.row.name, cell.column.name, size) for size in (2, 7))
    assert few["objects"].shape == (2, 5, 1)
    assert torch.equal(few["objects"], more["objects"][:2])
    assert filled.tested("no such row", cell.column.name, 2) is None
