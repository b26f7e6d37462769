"""DiffSort: losses against plain formulas, selection, resuming, and that it learns to sort."""

from functools import partial

import pytest
import torch
from lightning import Callback

from jumpbench.data.sorting import SortScalars
from jumpbench.evaluations.lists import ListEvaluation
from jumpbench.methods.symmetric_diffusers.baselines.diffsort import (
    DiffSort,
    block_loss,
    matrix_loss,
)
from jumpbench.methods.symmetric_diffusers.baselines.ordering import first_right
from jumpbench.networks.object_encoders import ScalarEncoder
from jumpbench.networks.object_scores import ObjectScores
from jumpbench.networks.sorting_networks import bitonic


def method(**options):
    torch.manual_seed(0)
    network = ObjectScores(ScalarEncoder(32), 32)
    # a network that starts in the wrong direction: sorting is not there by chance
    with torch.no_grad():
        network.head[-1].weight.neg_()
    optimizer = partial(torch.optim.AdamW, lr=5e-3)
    return DiffSort(network, 10.0, optimizer, evaluation=ListEvaluation(), **options)


@pytest.mark.parametrize("options", [{}, {"hard_weight": 1.0, "comparators": bitonic}])
def test_learns_to_sort_five_scalars(cpu_trainer, options):
    data = SortScalars(5, train_batch_size=64, n_samples=1000)
    run = cpu_trainer(max_steps=120)
    baseline = method(**options)
    run.fit(baseline, datamodule=data)
    run.test(baseline, datamodule=data, verbose=False)
    result = baseline.results
    # one scalar per object that grows with it orders every list: an untrained network is at 1/120
    assert result["accuracy"] > 95
    assert result["correct"] > 98
    assert result["kendall_tau_rank"] > 0.98
    assert result["n_samples"] == 1000 and result["network_evaluations"] == 1
    assert baseline.spent.network_evaluations == 120 * 64


def test_matrix_loss_against_the_plain_formula():
    generator = torch.Generator().manual_seed(0)
    mixing = torch.rand(2, 8, 8, generator=generator).softmax(-1).double()
    order = torch.stack([torch.randperm(8, generator=generator) for _ in range(2)])
    cross = 0.0
    for k in range(2):
        for i in range(8):
            for j in range(8):
                p = mixing[k, i, j]
                cross -= p.log() if order[k, i] == j else (1 - p).log()
    torch.testing.assert_close(matrix_loss(mixing, order), cross / 128)


@pytest.mark.parametrize(
    ("n", "blocks"),
    [
        (3, [3]),
        (5, [5]),
        (7, [4, 3]),
        (9, [4, 5]),
        (15, [4, 4, 4, 3]),
        (32, [4] * 8),
    ],
)
def test_block_loss_compares_relative_orders_of_consecutive_objects(n, blocks):
    """Block by block, list by list, from the definition, with python lists."""
    generator = torch.Generator().manual_seed(n)
    order, found = (
        torch.stack([torch.randperm(n, generator=generator) for _ in range(6)]) for _ in range(2)
    )
    objects = torch.randn(6, n, 1, 3, 2, generator=generator, dtype=torch.float64)
    mixing = torch.nn.functional.one_hot(found, n).double()  # place i holds object found[i]
    expected, low = 0.0, 0
    for size in blocks:
        own = range(low, low + size)
        error = 0.0
        for k in range(6):
            by_network = [j for j in found[k].tolist() if j in own]
            by_truth = [j for j in order[k].tolist() if j in own]
            for a, b in zip(by_network, by_truth, strict=True):
                error += (objects[k, a] - objects[k, b]).square().mean()
        expected += error / (6 * size)
        low += size
    assert low == n
    torch.testing.assert_close(block_loss(mixing, objects, order), expected)


def test_gradient_of_the_block_loss_reaches_the_block_only():
    mixing = torch.eye(9)[None, [1, 0, 2, 3, 4, 5, 6, 8, 7]].requires_grad_()
    objects = torch.arange(9.0).view(1, 9, 1)
    block_loss(mixing, objects, torch.arange(9)[None]).backward()
    places, own = mixing.grad[0].nonzero().T.tolist()
    # wrong places 0, 1 of the first block of four, 7, 8 of the block of five: rows of the gradient,
    # over the columns of the block (object 0 is zero, so it has none)
    assert set(places) == {0, 1, 7, 8}
    assert {j for i, j in zip(places, own, strict=True) if i < 4} == {1, 2, 3}
    assert {j for i, j in zip(places, own, strict=True) if i > 4} == {4, 5, 6, 7, 8}


def test_first_right_looks_at_the_first_five_objects_only():
    order = torch.tensor([[5, 0, 1, 2, 3, 4, 6]])
    assert first_right(order, order).item()
    assert first_right(torch.tensor([[6, 0, 1, 5, 2, 3, 4]]), order).item()
    assert not first_right(torch.tensor([[5, 1, 0, 2, 3, 4, 6]]), order).item()


def test_the_best_validated_weights_are_tested(tmp_path, cpu_trainer):
    data = SortScalars(5, train_batch_size=64, n_samples=200, valid_size=200)
    run = cpu_trainer(max_steps=60, val_check_interval=20, check_val_every_n_epoch=None)
    baseline = method(scheduler=partial(torch.optim.lr_scheduler.StepLR, step_size=20, gamma=1.0))
    run.fit(baseline, datamodule=data)
    assert baseline.best_accuracy > 0.3
    best = {name: value.clone() for name, value in baseline._best_weights.items()}
    with torch.no_grad():
        for parameter in baseline.network.parameters():
            parameter.zero_()  # whatever training did afterwards
    run.save_checkpoint(tmp_path / "saved.ckpt")
    fresh = method()
    test_run = cpu_trainer()
    test_run.test(fresh, datamodule=data, ckpt_path=tmp_path / "saved.ckpt", verbose=False)
    for name, value in fresh.network.state_dict().items():
        assert torch.equal(value, best[name])
    assert fresh.best_accuracy == baseline.best_accuracy


class SaveInValidationEnd(Callback):
    """The earliest moment at which a checkpoint of the validation's step may be written."""

    def __init__(self, path):
        self.path = path

    def on_validation_end(self, trainer, module):
        trainer.save_checkpoint(self.path / f"{trainer.global_step}.ckpt")


def test_a_checkpoint_written_after_a_validation_knows_its_outcome(tmp_path, cpu_trainer):
    """Every later state is reached from it: no validation is forgotten by a kill and a resume."""
    data = SortScalars(5, train_batch_size=16, n_samples=20, valid_size=100)
    options = {"val_check_interval": 2, "check_val_every_n_epoch": None}
    whole = method()
    cpu_trainer(max_steps=8, callbacks=[SaveInValidationEnd(tmp_path)], **options).fit(
        whole, datamodule=data
    )
    seen = []
    for step in (2, 4, 6, 8):
        saved = torch.load(tmp_path / f"{step}.ckpt", weights_only=True)
        seen.append(saved["best"]["accuracy"])
        assert saved["best"]["weights"]
        resumed = method()
        trainer = cpu_trainer(max_steps=8, **options)
        trainer.fit(resumed, datamodule=data, ckpt_path=tmp_path / f"{step}.ckpt")
        assert resumed.best_accuracy == whole.best_accuracy
        for name, value in whole._best_weights.items():
            assert torch.equal(resumed._best_weights[name], value)
    assert seen == sorted(seen) and seen[0] >= 0


def test_a_resumed_run_ends_where_an_uninterrupted_one_does(tmp_path, cpu_trainer):
    def make():
        torch.manual_seed(0)
        network = ObjectScores(ScalarEncoder(16), 16, layers=1, heads=2, feedforward=16)
        return DiffSort(network, 10.0, partial(torch.optim.AdamW, lr=1e-3), hard_weight=0.5)

    data = partial(SortScalars, 4, train_batch_size=16)
    whole = make()
    cpu_trainer(max_steps=6).fit(whole, datamodule=data())
    first = cpu_trainer(max_steps=3)
    first.fit(make(), datamodule=data())
    first.save_checkpoint(tmp_path / "half.ckpt")
    torch.rand(7)  # whatever another process drew
    second = make()
    cpu_trainer(max_steps=6).fit(second, datamodule=data(), ckpt_path=tmp_path / "half.ckpt")
    for a, b in zip(whole.parameters(), second.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)


def test_ranks_that_are_no_numbers_give_no_order():
    baseline = method()
    with torch.no_grad():
        baseline.network.head[-1].bias.fill_(torch.nan)
    with pytest.raises(ValueError, match="ranks of objects are NaN"):
        baseline.order(torch.zeros(1, 3, 1))
