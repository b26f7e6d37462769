"""Score training on laws that can be enumerated, for both kernels, and a trained prior's use."""

from functools import partial
from itertools import product

import pytest
import torch
from lightning import Trainer
from torch import nn

from jumpbench.data.tokens import TokenData
from jumpbench.errors import UserError
from jumpbench.evaluations.extras import ExtrasEvaluation
from jumpbench.methods.common.score_training import ScoreTraining
from jumpbench.networks.denoising_scores import DenoisingScores
from jumpbench.processes.masked import MaskedProcess
from jumpbench.processes.schedules import LogLinear
from jumpbench.processes.uniform import UniformProcess
from oracles import all_states

STATES = all_states(3, 2)
LAW = torch.tensor([6.0, 1, 1, 1, 5, 1, 1, 1, 3], dtype=torch.float64) / 20
KERNELS = {"uniform": (UniformProcess(3), None), "masked": (MaskedProcess(3), LogLinear())}


class Pairs(TokenData):
    """2,000 exact draws of LAW."""

    length, n_states = 2, 3

    def load(self, split):
        generator = torch.Generator().manual_seed(0)
        index = torch.multinomial(LAW, 2000, replacement=True, generator=generator)
        return {"states": STATES[index].to(torch.uint8)}


class Logits(nn.Module):
    """Logits of the clean symbols from the noised pair and the noise."""

    def __init__(self, n_states):
        super().__init__()
        self.n_states = n_states
        self.body = nn.Sequential(nn.Linear(2 * n_states + 1, 64), nn.SiLU(), nn.Linear(64, 64))
        self.head = nn.Sequential(nn.SiLU(), nn.Linear(64, 2 * n_states))

    def forward(self, x, noise):
        one_hot = nn.functional.one_hot(x, self.n_states).float().flatten(1)
        hidden = self.body(torch.cat([one_hot, noise.log().float()[:, None] / 5], 1))
        return self.head(hidden).view(len(x), 2, self.n_states)


def trained(kernel, steps=800, **options):
    process, schedule = KERNELS[kernel]
    torch.manual_seed(0)
    network = DenoisingScores(Logits(process.n_states), process)
    method = ScoreTraining(
        network,
        process,
        partial(torch.optim.Adam, lr=3e-3),
        schedule=schedule,
        steps=32,
        evaluation=ExtrasEvaluation(),
        **options,
    )
    trainer = Trainer(
        accelerator="cpu", logger=False, enable_progress_bar=False, enable_checkpointing=False,
        max_steps=steps, enable_model_summary=False,
    )  # fmt: skip
    data = Pairs(train_batch_size=256, n_samples=2000, batch_size=1000)
    trainer.fit(method, data)
    trainer.test(method, data, verbose=False)
    return method


@pytest.mark.parametrize("kernel", KERNELS)
def test_samples_and_bound_of_a_correlated_law(kernel):
    """Total variation below 0.06 (finite sample: 0.025); the bound above the entropy by little."""
    method = trained(kernel)
    samples = method.artifacts["samples"].long()
    frequencies = torch.bincount(samples[:, 0] * 3 + samples[:, 1], minlength=9).double() / 2000
    assert (frequencies - LAW).abs().sum() / 2 < 0.06
    entropy = float(-(LAW * LAW.log()).sum())
    # 8,000 random times: the standard error of the bound is about 0.05 nats.
    assert entropy - 0.2 < method.results["bound"] < entropy + 0.4
    assert method.results["network_evaluations"] == 33
    assert set(method.artifacts["network"]) == set(method.network.state_dict())


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_loss_is_least_at_the_true_score(kernel):
    """Exact expectation over x_0 and x_t at one noise: the gradient vanishes at log p_t ratios."""
    from jumpbench.processes.score_entropy import denoising_score_entropy

    process, _ = KERNELS[kernel]
    noise, rate = torch.tensor(0.7, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64)
    n = process.n_states
    kernel_matrix = process.kernel(noise)
    xt = all_states(n, 2)
    joint = LAW[:, None] * kernel_matrix[STATES][:, 0][:, xt[:, 0]]
    joint = joint * kernel_matrix[STATES[:, 1]][:, xt[:, 1]]  # x_0, x_t
    marginal = joint.sum(0)
    index = {tuple(x): i for i, x in enumerate(xt.tolist())}
    log_score = torch.zeros(len(xt), 2, n, dtype=torch.float64)
    for i, x in enumerate(xt.tolist()):
        for site, token in product(range(2), range(n)):
            other = list(x)
            other[site] = token
            ratio = marginal[index[tuple(other)]] / marginal[i]
            log_score[i, site, token] = ratio.clamp(min=1e-300).log().clamp(min=-50)
    log_score.requires_grad_()
    total = 0.0
    for k, x0 in enumerate(STATES):
        reach = joint[k] > 0
        start = x0.expand(int(reach.sum()), 2)
        each = denoising_score_entropy(process, log_score[reach], start, xt[reach], noise, rate)
        total = total + (joint[k][reach] * each).sum()
    total.backward()
    assert log_score.grad.abs().max() < 1e-12


def test_a_resumed_stream_of_batches_goes_on():
    data = Pairs(train_batch_size=8)
    one = [data.train_batch(step)["states"] for step in range(4)]
    assert torch.equal(one[2], Pairs(train_batch_size=8).train_batch(2)["states"])
    assert not torch.equal(one[2], one[3])
    assert not torch.equal(one[2], Pairs(train_batch_size=8, seed=1).train_batch(2)["states"])
    assert one[0].dtype == torch.long and one[0].shape == (8, 2)


@pytest.mark.parametrize(
    ("loaded", "words"),
    [
        ({"x": STATES}, "must return 'states', an integer tensor"),
        ({"states": STATES / 2}, "must return 'states', an integer tensor"),
        ({"states": STATES[:0]}, "must return 'states', an integer tensor"),
        ({"states": STATES, "labels": STATES[:4, 0]}, "test: 4 labels for 9 sequences"),
        ({"states": STATES[:, :1]}, "not .n, 2"),
        ({"states": STATES + 1}, "symbols outside 0..2"),
    ],
)
def test_sequences_that_are_none_are_refused(loaded, words, monkeypatch):
    monkeypatch.setattr(Pairs, "load", lambda self, split: loaded)
    with pytest.raises(UserError, match=words):
        Pairs().test_dataloader()


def test_a_network_of_another_shape_is_refused():
    """(B, D, 1) would broadcast in silence."""
    method = ScoreTraining(nn.Identity(), UniformProcess(3), torch.optim.Adam)
    method.network.forward = lambda x, noise: x[..., None].float()
    with pytest.raises(
        UserError, match=r"Identity must give log-scores \(9, 2, 3\), not \(9, 2, 1\)"
    ):
        method.loss(STATES, torch.Generator().manual_seed(0))
