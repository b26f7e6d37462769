"""DiffSort: losses against plain formulas, selection, resuming, and that it learns to sort."""

from functools import partial

import pytest
import torch

from jumpbench.data.sorting import SortScalars
from jumpbench.methods.symmetric_diffusers.baselines.diffsort import (
    DiffSort,
    matrix_loss,
    object_loss,
)
from jumpbench.methods.symmetric_diffusers.baselines.trained import first_right
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
    return DiffSort(network, 10.0, optimizer, **options)


@pytest.mark.parametrize("options", [{}, {"hard_weight": 1.0, "comparators": bitonic}])
def test_learns_to_sort_five_scalars(cpu_trainer, options):
    data = SortScalars(5, batch_size=64, test_size=1000)
    run = cpu_trainer(max_steps=200)
    baseline = method(**options)
    run.fit(baseline, datamodule=data)
    (result,) = run.test(baseline, datamodule=data, verbose=False)
    # one scalar per object that grows with it orders every list: an untrained network is at 1/120
    assert result["test/accuracy"] > 95
    assert result["test/correct"] > 98
    assert result["test/kendall_tau_rank"] > 0.98
    assert result["test/n_samples"] == 1000


def test_losses_against_plain_formulas():
    generator = torch.Generator().manual_seed(0)
    mixing = torch.rand(2, 8, 8, generator=generator).softmax(-1).double()
    order = torch.stack([torch.randperm(8, generator=generator) for _ in range(2)])
    objects = torch.randn(2, 8, 1, 3, 2, generator=generator).double()
    cross, square = 0.0, 0.0
    for k in range(2):
        for i in range(8):
            for j in range(8):
                p = mixing[k, i, j]
                cross -= p.log() if order[k, i] == j else (1 - p).log()
            found = sum(mixing[k, i, j] * objects[k, j] for j in range(8))
            square += (found - objects[k, order[k, i]]).square().mean() / 2
    torch.testing.assert_close(matrix_loss(mixing, order), cross / 128)
    # sum over blocks of four rows of the block's mean
    torch.testing.assert_close(object_loss(mixing, objects, order), square / 4)


def test_first_right_looks_at_the_first_five_objects_only():
    order = torch.tensor([[5, 0, 1, 2, 3, 4, 6]])
    assert first_right(order, order).item()
    assert first_right(torch.tensor([[6, 0, 1, 5, 2, 3, 4]]), order).item()
    assert not first_right(torch.tensor([[5, 1, 0, 2, 3, 4, 6]]), order).item()


def test_the_best_validated_weights_are_tested(tmp_path, cpu_trainer):
    data = SortScalars(5, batch_size=64, test_size=200, valid_size=200)
    run = cpu_trainer(max_steps=60, val_check_interval=20, check_val_every_n_epoch=None)
    baseline = method(rate=partial(torch.optim.lr_scheduler.StepLR, step_size=20, gamma=1.0))
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


def test_a_resumed_run_ends_where_an_uninterrupted_one_does(tmp_path, cpu_trainer):
    def make():
        torch.manual_seed(0)
        network = ObjectScores(ScalarEncoder(16), 16, layers=1, heads=2, feedforward=16)
        return DiffSort(network, 10.0, partial(torch.optim.AdamW, lr=1e-3), hard_weight=0.5)

    data = partial(SortScalars, 4, batch_size=16)
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
