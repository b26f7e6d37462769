"""Blackout as a method: training, averaging, resuming, drawing, weights of another run."""

from functools import partial

import pytest
import torch
from lightning import Trainer

from jumpbench.data.counts import CountData, SampleBatches
from jumpbench.errors import UserError
from jumpbench.methods.blackout import losses
from jumpbench.methods.blackout.module import Blackout
from jumpbench.methods.common.averaging import RampedWeightAveraging
from jumpbench.networks.count_perceptron import CountPerceptron
from jumpbench.processes.death import PureDeath
from jumpbench.processes.observation_times import FisherTimes
from jumpbench.samplers.counts import BinomialBridge, stochastic

GRID = FisherTimes(20, 6.0)


class Pairs(CountData):
    """Two equal counts, 0 or 5: what one site is, the other must become."""

    maximum = 5

    def counts(self, train):
        return torch.tensor([[0, 0], [5, 5], [5, 5], [0, 0]]).repeat(50, 1)


def blackout(**options):
    torch.manual_seed(0)
    defaults = {
        "weight": losses.finite_time_likelihood,
        "optimizer": partial(torch.optim.Adam, lr=5e-3),
        "input_scale": 2.5,
    }
    return Blackout(CountPerceptron((2,), hidden=64), PureDeath(5), GRID, **(defaults | options))


def trainer(steps, **options):
    return Trainer(
        max_steps=steps, max_epochs=-1, accelerator="cpu", logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def trained():
    method = blackout()
    trainer(450, callbacks=[RampedWeightAveraging(0.99)]).fit(method, Pairs(train_batch_size=256))
    return method


def test_the_trained_model_knows_what_is_lost(trained):
    """At t_T the mean of the data, 2.5; with some units left, the other ones."""
    empty = trained.network.at(torch.zeros(1, 2, dtype=torch.uint8), 20)
    assert torch.allclose(empty, torch.tensor(2.5), atol=0.6)
    one = trained.network.at(torch.tensor([[3, 2]], dtype=torch.uint8), 11)
    assert torch.allclose(one, torch.tensor([[2.0, 3.0]]), atol=0.6)


def test_samples_and_bound(trained):
    """Pairs of equal counts, half of each kind; the bound between the entropy and four times it."""
    x = trained.sample(2000, torch.Generator().manual_seed(0)).samples.long()
    assert (x[:, 0] - x[:, 1]).abs().double().mean() < 0.5
    assert abs((x[:, 0] > 2).double().mean() - 0.5) < 0.12
    held_out = Pairs().table("test")[:200].repeat(10, 1)
    nats = trained.bound(held_out, torch.Generator().manual_seed(1))
    error = float(nats.std() / len(nats) ** 0.5)
    entropy = float(torch.tensor(2.0).log())
    assert entropy - 5 * error < float(nats.mean()) < 4 * entropy


def test_training_spends_network_evaluations(trained):
    assert trained.spent.network_evaluations == 450 * 256


def test_the_average_is_in_place_and_ramped():
    """With one weight that moves by one each step: the recursion written out."""
    callback = RampedWeightAveraging(0.5)
    average, weight = [torch.zeros(3)], [torch.zeros(3)]
    expected = 0.0
    for n in range(1, 6):
        weight[0] += 1
        callback._average(average, weight, torch.tensor(n))
        decay = min(0.5, (1 + n) / (10 + n))
        expected = decay * expected + (1 - decay) * n
        assert torch.allclose(average[0], torch.tensor(expected))


def test_a_stopped_run_continues_as_if_it_had_not(tmp_path):
    data = partial(Pairs, train_batch_size=16, flip=True)
    whole, stopped, rest = blackout(), blackout(), blackout()
    trainer(30, callbacks=[RampedWeightAveraging()]).fit(whole, data())
    path = tmp_path / "half.ckpt"

    class Save(RampedWeightAveraging):
        """Leaves a checkpoint in the middle: the weights in training, and their average."""

        def on_train_batch_end(self, t, module, *arguments):
            super().on_train_batch_end(t, module, *arguments)
            if t.global_step == 15:
                t.save_checkpoint(path)

    Save.__qualname__ = "RampedWeightAveraging"  # under which its state is kept
    trainer(16, callbacks=[Save()]).fit(stopped, data())
    resumed = trainer(30, callbacks=[RampedWeightAveraging()])
    resumed.fit(rest, data(), ckpt_path=path, weights_only=True)
    for a, b in zip(whole.network.parameters(), rest.network.parameters(), strict=True):
        assert torch.equal(a, b)


def test_drawn_batches_are_judged_beside_held_out_counts(trained):
    method = blackout(step=partial(BinomialBridge, rounding=stochastic), stride=5)
    method.network.load_state_dict(trained.network.state_dict())
    trainer(1).test(method, SampleBatches(Pairs(), 25, 10, held_out=2), verbose=False)
    assert method.results["n_samples"] == 25
    assert method.results["network_evaluations"] == method.results["sequential_steps"] == 4
    assert method.artifacts["samples"].shape == (25, 2)


def test_bounds_come_with_the_draws(trained):
    batch = {"count": 4, "counts": torch.tensor([[0, 0], [5, 5]] * 4, dtype=torch.uint8)}
    draws = trained.draw(batch, torch.Generator().manual_seed(0))
    assert draws.extras["bound"].shape == (4, 2) and draws.extras["bound"].isfinite().all()


def test_weights_of_another_run(trained, tmp_path):
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    state = {"state_dict": trained.state_dict()}
    torch.save(state, folder / "last.ckpt")
    method = blackout(weights=str(tmp_path))
    method.setup("test")
    for name, weight in trained.network.state_dict().items():
        assert torch.equal(method.network.state_dict()[name], weight)
    with pytest.raises(UserError, match="finish the run"):
        blackout(weights=str(tmp_path / "nowhere")).setup("test")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: blackout().sample(3), "shape of a sample"),
        (lambda: blackout(stride=7), "does not divide"),
        (lambda: blackout(bernoulli_bound=True), "0 or 1"),
    ],
)
def test_bad_settings_are_refused(make, words):
    with pytest.raises(UserError, match=words):
        make()


def test_a_network_of_another_shape_is_refused():
    """One number a count: (B, 1) would broadcast in silence."""
    method = Blackout(torch.nn.Linear(2, 1), PureDeath(5), GRID, shape=(2,))
    method.network.network.forward = lambda x, index: x[:, :1]
    with pytest.raises(UserError, match=r"network Linear must .* \(3, 2\), not \(3, 1\)"):
        method.sample(3)


def test_a_process_of_another_maximum_than_the_data_is_refused():
    method = Blackout(CountPerceptron((2,), hidden=8), PureDeath(4), GRID)
    with pytest.raises(UserError, match=r"PureDeath\(4\) with Pairs of counts 0\.\.5"):
        trainer(1).fit(method, Pairs())
