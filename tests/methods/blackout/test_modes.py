"""Sampling leaves a network that is being trained as it was, dropout draws from the generator."""

import pytest
import torch
from lightning import Callback, Trainer
from torch import nn

from jumpbench.data.counts import CountData
from jumpbench.methods.blackout.module import Blackout
from jumpbench.networks.count_perceptron import CountPerceptron
from jumpbench.processes.death import PureDeath
from jumpbench.processes.observation_times import FisherTimes


class Pairs(CountData):
    maximum = 5

    def counts(self, train):
        return torch.tensor([[0, 0], [5, 5]]).repeat(50, 1)


class Dropped(nn.Module):
    """A perceptron whose input is dropped out."""

    def __init__(self):
        super().__init__()
        self.dropout, self.inner = nn.Dropout(0.5), CountPerceptron((2,), hidden=8)

    def forward(self, x, index):
        return self.inner(self.dropout(x), index)


def blackout(**options):
    torch.manual_seed(0)
    grid = FisherTimes(20, 6.0)
    return Blackout(Dropped(), PureDeath(5), grid, shape=(2,), input_scale=2.5, **options)


class Looks(Callback):
    """Asks for samples, or bounds, after every step, and notes the mode of the network."""

    def __init__(self, look):
        self.look, self.modes = look, []

    def on_train_batch_end(self, trainer, method, *_):
        self.look(method)
        self.modes.append(method.network.training)


@pytest.mark.parametrize(
    "look",
    [lambda m: m.sample(4), lambda m: m.bound(torch.tensor([[0, 5]]))],
    ids=["sample", "bound"],
)
def test_looks_during_training_leave_dropout_on(look):
    looks = Looks(look)
    Trainer(
        max_steps=3, max_epochs=-1, accelerator="cpu", logger=False, callbacks=[looks],
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    ).fit(blackout(), Pairs(train_batch_size=16))  # fmt: skip
    assert looks.modes == [True] * 3


def test_samples_with_dropout_depend_on_the_generator_alone():
    method = blackout(dropout_in_sampling=True)

    def samples(seed):
        return method.sample(200, torch.Generator().manual_seed(seed)).samples

    first = samples(0)
    state = torch.get_rng_state()
    torch.rand(7)
    assert torch.equal(samples(0), first)
    torch.set_rng_state(state)
    assert not torch.equal(samples(1), first)
    assert torch.equal(torch.get_rng_state(), state)


def test_dropout_is_off_unless_it_is_asked_for():
    method, seen = blackout(), []
    method.network.register_forward_pre_hook(lambda module, _: seen.append(module.training))
    method.network.network.dropout.register_forward_pre_hook(
        lambda module, _: seen.append(module.training)
    )
    method.sample(4)
    method.dropout_in_sampling = True
    off, seen = len(seen), seen
    assert off and not any(seen)
    method.sample(4)
    assert all(seen[off:])
