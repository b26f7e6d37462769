"""Gumbel-Sinkhorn: assignment, loss, and learning which piece of a 2 x 2 image is which."""

import itertools
from functools import partial

import pytest
import torch

from jumpbench.data.lists import ListData, shuffles, take_rows
from jumpbench.errors import UserError
from jumpbench.evaluations.lists import ListEvaluation
from jumpbench.methods.symmetric_diffusers.baselines.gumbel_sinkhorn import (
    GumbelSinkhorn,
    best_assignment,
    reassembly_loss,
)
from jumpbench.networks.object_scores import piece_rows
from jumpbench.seeding import make_generator


class Corners(ListData):
    """2 x 2 jigsaws whose piece at place i is bright on its side i, plus noise."""

    def draw(self, split, size, generator, first):
        order = shuffles(size, 4, generator)
        ordered = 0.3 * torch.randn(size, 4, 1, 4, 4, generator=generator)
        for place, side in enumerate((0, 3)):
            ordered[:, place, :, side, :] += 1
            ordered[:, place + 2, :, :, side] += 1
        objects = torch.empty_like(ordered).scatter_(
            1, order[..., None, None, None].expand_as(ordered), ordered
        )
        return {"objects": objects, "order": order, "groups": order}


def test_assignment_is_the_best_permutation():
    log_alpha = torch.randn(30, 4, 4, generator=make_generator(0, "assignment"))
    found = best_assignment(log_alpha)
    everything = torch.tensor(list(itertools.permutations(range(4))))
    values = log_alpha[:, everything, torch.arange(4)].sum(-1)
    assert torch.equal(found, everything[values.argmax(1)])


def test_loss_is_zero_at_the_true_permutation_and_plain_elsewhere():
    generator = make_generator(1, "loss")
    pieces, order = torch.randn(2, 3, 1, 2, 2, generator=generator), shuffles(2, 3, generator)
    exact = torch.nn.functional.one_hot(order, 3).transpose(1, 2).float()  # row: piece
    assert reassembly_loss(exact[None], pieces, order) == 0
    soft = torch.rand(5, 2, 3, 3, generator=generator)
    total = 0.0
    for s, k, i in itertools.product(range(5), range(2), range(3)):
        found = sum(soft[s, k, j, i] * pieces[k, j] for j in range(3))
        total += (found - take_rows(pieces, order)[k, i]).square().sum()
    torch.testing.assert_close(reassembly_loss(soft, pieces, order), total / (5 * 2 * 3 * 4))


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"temperature": 0.0}, "temperature=0.0: .* above 0"),
        ({"temperature": -1}, "temperature=-1: .* above 0"),
        ({"temperature": float("nan")}, "temperature=nan: .* above 0"),
        ({"n_samples": 0}, "n_samples=0: .* 1 or more"),
        ({"rounds": 0}, "rounds=0: .* 1 or more"),
    ],
)
def test_settings_that_give_no_soft_permutation_are_refused(setting, words):
    with pytest.raises(UserError, match=words):
        GumbelSinkhorn(piece_rows(8, 2), torch.optim.Adam, **setting)


def test_learns_two_by_two(cpu_trainer):
    torch.manual_seed(0)
    network = piece_rows(8, 2, hidden=8, kernel=3)
    adam = partial(torch.optim.Adam, lr=1e-2)
    baseline = GumbelSinkhorn(network, adam, n_samples=4, evaluation=ListEvaluation())
    data = Corners(4, train_batch_size=50, n_samples=500, batch_size=250)
    run = cpu_trainer(max_steps=80)
    run.test(baseline, datamodule=data, verbose=False)
    assert baseline.results["accuracy"] < 50  # chance is 4
    run.fit(baseline, datamodule=data)
    run.test(baseline, datamodule=data, verbose=False)
    assert baseline.results["accuracy"] > 95
