"""Lists as every method sees them: true orders, determinism, resuming, sizes, bad input."""

import os
from types import SimpleNamespace

import pytest
import torch

from jumpbench.data.jigsaw import Cifar10Jigsaw, NoisyMnistJigsaw, coloured_digits, cut
from jumpbench.data.lists import EpochOrder, take_rows
from jumpbench.data.mnist import generated_digits
from jumpbench.data.sorting import SortDigits, SortScalars, sorted_list
from jumpbench.data.toy_permutation import FixedPermutation
from jumpbench.errors import DataMissing, UserError
from jumpbench.metrics.permutation import look_alike_ceilings
from jumpbench.processes.permutations import is_permutation

MAKERS = {
    "digits": lambda **o: SortDigits(4, generated=60, **o),
    "scalars": lambda **o: SortScalars(4, **o),
    "mnist pieces": lambda **o: NoisyMnistJigsaw(3, generated=60, **o),
    "cifar pieces": lambda **o: Cifar10Jigsaw(3, generated=60, **o),
    "integers": lambda **o: FixedPermutation(7, **o),
}
SMALL = {"train_batch_size": 8, "n_samples": 20, "batch_size": 8}


def batches(data, loader, count):
    iterator = iter(loader)
    return [data.on_after_batch_transfer(next(iterator), 0) for _ in range(count)]


def same(a, b):
    return all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_shapes_and_sizes(maker):
    data = maker(**SMALL)
    data.setup()
    for batch in batches(data, data.train_dataloader(), 2):
        n = data.length
        assert batch["objects"].shape[:2] == batch["order"].shape == batch["groups"].shape == (8, n)
        assert is_permutation(batch["order"]).all()
    tests = batches(data, data.test_dataloader(), 3)
    assert [len(batch["order"]) for batch in tests] == [8, 8, 4]
    assert len(data.test_dataloader()) == 3 and data.val_dataloader() == []


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_batches_depend_on_seed_and_number_only(maker):
    def first(seed, count=3):
        data = maker(seed=seed, **SMALL)
        data.setup()
        return (
            batches(data, data.train_dataloader(), count),
            batches(data, data.test_dataloader(), 1)[0],
        )

    (train, test), (again, test_again), (other, test_other) = first(0), first(0), first(1)
    assert all(map(same, train, again)) and same(test, test_again) and same(test, test_other)
    assert not same(train[0], train[1]) and not same(train[0], other[0])


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_resuming_continues_with_the_next_batch(maker):
    whole, resumed = maker(**SMALL), maker(**SMALL)
    whole.setup()
    resumed.setup()
    resumed.trainer = SimpleNamespace(
        global_step=2, accumulate_grad_batches=1, global_rank=0, world_size=1, lightning_module=None
    )
    expected = batches(whole, whole.train_dataloader(), 4)[2:]
    assert all(map(same, expected, batches(resumed, resumed.train_dataloader(), 2)))


def test_processes_draw_different_lists():
    firsts = []
    for rank in range(2):
        data = NoisyMnistJigsaw(2, generated=64, **SMALL)
        data.setup()
        data.trainer = SimpleNamespace(
            global_step=0, accumulate_grad_batches=1, global_rank=rank, world_size=2,
            lightning_module=None,
        )  # fmt: skip
        draws = iter(data.train_dataloader())
        firsts.append(torch.cat([next(draws)["index"] for _ in range(4)]))
    assert torch.cat(firsts).unique().numel() == 64  # together one epoch, nothing twice


def test_numbers_are_what_their_digits_say():
    data = SortDigits(6, generated=200, **SMALL)
    data.setup()
    draw = next(iter(data.train_dataloader()))
    batch = data.on_after_batch_transfer(draw, 0)
    images, labels = generated_digits(200, 0)
    index = draw["digits"].long()
    assert index.max() < 200  # training digits only
    assert next(iter(data.test_dataloader()))["digits"].min() >= 200
    for b in range(8):
        values = [int("".join(str(int(labels[d])) for d in digits)) for digits in index[b]]
        ordered = [values[i] for i in batch["order"][b]]
        assert ordered == sorted(values)
        for i, digits in enumerate(index[b]):
            wide = torch.cat([images[d] for d in digits], dim=1).float() / 255
            assert torch.equal(batch["objects"][b, i, 0], wide)


def test_ties_share_a_group():
    values = torch.tensor([[5, 2, 5, 9], [1, 1, 1, 1], [4, 3, 2, 1]])
    lists = sorted_list(values, torch.tensor([[2, 1, 0, 3], [3, 1, 2, 0], [0, 1, 2, 3]]))
    assert lists["order"][:2].tolist() == [[1, 2, 0, 3], [3, 1, 2, 0]]  # as ``ties`` names them
    groups = lists["groups"]
    assert groups[0, 0] == groups[0, 2] and groups[0].unique().numel() == 3
    assert groups[1].unique().numel() == 1 and groups[2].unique().numel() == 4
    assert lists["order"][2].tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize("split", ["train", "test"])
def test_the_order_of_ties_is_random_whatever_the_presentation(split):
    """One digit a number and six numbers: half of all lists have ties. A stable sort of what is
    presented may not beat the ceiling, which is the best that anybody can expect."""
    sizes = dict.fromkeys(("train_batch_size", "n_samples", "batch_size"), 4000)
    data = SortDigits(6, **sizes, digits=1, generated=300)
    data.setup()
    loader = data.train_dataloader() if split == "train" else data.test_dataloader()
    draw = next(iter(loader))
    batch = data.on_after_batch_transfer(draw, 0)
    values = data.tables()["labels"][draw["digits"].long()].squeeze(-1)
    stable = values.argsort(dim=-1, stable=True)
    accuracy = (stable == batch["order"]).all(-1).double()
    ceiling = look_alike_ceilings(batch["groups"])[0]
    error = (ceiling * (1 - ceiling)).sum().sqrt() / 4000  # each list a coin of its ceiling
    assert abs(accuracy.mean() - ceiling.mean()) < 4 * error < 0.05
    assert ceiling.mean() < 0.5  # where a stable order would be right every time


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_test_lists_do_not_depend_on_the_batch_size(maker):
    def lists(size):
        data = maker(**SMALL | {"batch_size": size})
        data.setup()
        parts = batches(data, data.test_dataloader(), -(-20 // size))
        return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}

    whole = lists(20)
    assert same(whole, lists(7)) and same(whole, lists(1))
    assert not torch.equal(whole["order"][0], whole["order"][1])


@pytest.mark.parametrize(
    ("height", "pieces", "side"), [(28, 3, 9), (28, 5, 5), (28, 6, 4), (32, 3, 10)]
)
def test_pieces_come_from_the_top_left_row_by_row(height, pieces, side):
    image = torch.arange(height * height).float().view(1, 1, height, height)
    parts = cut(image, pieces)
    assert parts.shape == (1, pieces**2, 1, side, side)
    for k in range(pieces**2):
        top, left = side * (k // pieces), side * (k % pieces)
        assert torch.equal(parts[0, k, 0], image[0, 0, top : top + side, left : left + side])


def test_the_order_puts_the_image_together():
    data = NoisyMnistJigsaw(4, generated=30, **SMALL)
    data.setup()
    draw = next(iter(data.train_dataloader()))
    batch = data.on_after_batch_transfer(draw, 0)
    expected = cut(data.tables()["images"][draw["index"]], 4)
    assert torch.equal(take_rows(batch["objects"], batch["order"]), expected)
    assert (batch["order"] != torch.arange(16)).any(-1).all()  # presented in random order


def test_empty_pieces_share_a_group_and_noise_is_drawn_once():
    data = NoisyMnistJigsaw(4, generated=30, **SMALL)
    data.setup()
    first, second = (data.tables()["images"][i] for i in (0, 0))
    assert torch.equal(first, second)
    noise = data.tables()["images"][:30, 0] - generated_digits(30)[0].float() / 255
    assert abs(noise.std() - 0.01) < 0.0003  # standard error 0.01 / sqrt(2 * 23520) = 5e-5
    batch = batches(data, data.test_dataloader(), 1)[0]
    clean = batch["objects"].flatten(2).amax(-1)  # noise alone stays far below any ink
    for b in range(8):
        empty = clean[b] < 0.06
        assert empty.sum() > 1
        assert batch["groups"][b][empty].unique().numel() == 1
        assert batch["groups"][b].unique().numel() == 16 - empty.sum() + 1


def test_training_and_test_images_have_independent_noise():
    data = NoisyMnistJigsaw(2, generated=60, **SMALL)
    data.setup()
    images = data.tables()["images"][:, 0]
    train = images[:60] - generated_digits(60, 0)[0].float() / 255
    test = images[60:] - generated_digits(60, 1)[0].float() / 255
    correlation = torch.corrcoef(torch.stack([train.flatten(), test.flatten()]))[0, 1]
    assert abs(correlation) < 0.02  # standard error 1 / sqrt(47040) = 0.005


def test_cifar_pixels_are_standardised():
    data = Cifar10Jigsaw(2, generated=30, **SMALL)
    data.setup()
    draw = next(iter(data.train_dataloader()))
    ordered = data.on_after_batch_transfer(draw, 0)
    pixels = coloured_digits(30, 0)[draw["index"]].float() / 255
    back = take_rows(ordered["objects"], ordered["order"])
    back = back * data.unit.view(3, 1, 1) + torch.tensor([0.4914, 0.4822, 0.4465]).view(3, 1, 1)
    torch.testing.assert_close(back, cut(pixels, 2))


def test_the_fixed_permutation_is_what_the_order_restores():
    for arbitrary in (False, True):
        data = FixedPermutation(9, arbitrary=arbitrary, train_batch_size=5)
        batch = next(iter(data.train_dataloader()))
        restored = batch["objects"].gather(-1, batch["order"])
        assert torch.equal(restored, data.permutation.expand(5, -1))
        assert (data.permutation == torch.arange(9)).all() != arbitrary


def test_epochs_visit_every_image_once():
    order = EpochOrder(10, seed=3)
    taken = torch.cat([order.take(first, 4) for first in range(0, 20, 4)])
    assert sorted(taken[:10].tolist()) == sorted(taken[10:].tolist()) == list(range(10))
    assert taken[:10].tolist() != taken[10:].tolist()
    assert torch.equal(EpochOrder(10, 3).take(7, 9), taken[7:16])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SortScalars(1), "nothing to order"),
        (lambda: SortScalars(3, train_batch_size=0), "train_batch_size=0"),
        (lambda: SortScalars(3, batch_size=0), "^batch_size=0"),
        (lambda: SortScalars(3, n_samples=0), "n_samples=0: the test needs at least one list"),
        (lambda: SortDigits(3, valid_size=5), "held_out > 0"),
        (lambda: SortDigits(3, generated=10, held_out=10).setup(), "only 10 training digits"),
        (lambda: NoisyMnistJigsaw(15), "2 to 14 pieces a side"),
        (lambda: NoisyMnistJigsaw(1), "2 to 14 pieces a side"),
        (lambda: NoisyMnistJigsaw(2, generated=5, n_samples=6).setup(), "there are 5 test images"),
        (lambda: NoisyMnistJigsaw(2, valid_size=3), "held_out >= 3"),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(UserError, match=message):
        make()


def test_no_silent_substitute(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    for data in (SortDigits(3, root=tmp_path), NoisyMnistJigsaw(2, root=tmp_path)):
        with pytest.raises(DataMissing, match="train-images-idx3-ubyte"):
            data.setup()
    with pytest.raises(DataMissing, match="cifar-10-binary"):
        Cifar10Jigsaw(2, root=tmp_path).setup()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda b: b.pop("groups"), "batches of FixedPermutation lack 'groups'"),
        (lambda b: b.update(objects=b["objects"][:, :5]), r"objects of .* shape .B, 7, .*8, 5"),
        (lambda b: b.update(order=b["order"] + 1), "FixedPermutation: order .* outside 0..6"),
        (lambda b: b.update(order=0 * b["order"]), "FixedPermutation: order .* repeated"),
    ],
)
def test_lists_that_are_none_are_refused(change, words, monkeypatch):
    data = FixedPermutation(7, **SMALL)
    data.setup()
    whole = data.assemble

    def spoiled(draw, tables):
        batch = dict(whole(draw, tables))
        change(batch)
        return batch

    monkeypatch.setattr(data, "assemble", spoiled)
    with pytest.raises(UserError, match=words):
        batches(data, data.train_dataloader(), 1)
