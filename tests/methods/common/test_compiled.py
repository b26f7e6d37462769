"""Compiled networks and chains do what the plain ones do."""

import shutil
from functools import partial

import pytest
import torch
from lightning import Trainer
from torch._dynamo.utils import counters

from jumpbench.data.counts import CountData
from jumpbench.data.tokens import TokenData
from jumpbench.evaluations.extras import ExtrasEvaluation
from jumpbench.methods.blackout.module import Blackout
from jumpbench.methods.common.averaging import RampedWeightAveraging
from jumpbench.methods.common.score_training import ScoreTraining
from jumpbench.methods.sgdd.learned_prior import learned_prior
from jumpbench.methods.sgdd.likelihood_step import MetropolisStep
from jumpbench.methods.sgdd.pair_likelihood import PairLikelihood, both, exclusive_or, random_pairs
from jumpbench.methods.sgdd.problems.pairs import PairProblem
from jumpbench.networks.count_perceptron import CountPerceptron
from jumpbench.networks.denoising_scores import DenoisingScores
from jumpbench.networks.score_transformer import ScoreTransformer
from jumpbench.processes.death import PureDeath
from jumpbench.processes.observation_times import FisherTimes
from jumpbench.processes.uniform import UniformProcess
from jumpbench.samplers.mcmc.metropolis import SingleSiteMetropolis

PLAIN_COMPILE = torch.compile
needs_a_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")


@pytest.fixture
def quick(monkeypatch):
    """What torch.compile traces is run as it is, without code of its own."""

    def traced(*given, mode=None, **options):
        return PLAIN_COMPILE(*given, backend="aot_eager", **options)

    monkeypatch.setattr(torch, "compile", traced)


@pytest.fixture(autouse=True)
def afresh():
    torch.compiler.reset()
    counters.clear()
    yield
    torch.compiler.reset()


def graphs():
    return counters["stats"]["unique_graphs"]


class Sequences(TokenData):
    length, n_states = 6, 3

    def load(self, split):
        generator = torch.Generator().manual_seed(0)
        states = torch.randint(3, (64, 1), generator=generator).expand(64, 6)
        return {"states": states.to(torch.uint8)}


class Counts(CountData):
    maximum = 5

    def counts(self, train):
        return torch.tensor([[0, 0], [5, 5]]).repeat(32, 1)


def score_training(compile):
    torch.manual_seed(0)
    network = ScoreTransformer(3, 16, 1, 2, 32, 0.0, 16, norm_scales=True)
    process = UniformProcess(3)
    return ScoreTraining(
        DenoisingScores(network, process), process, partial(torch.optim.Adam, lr=1e-2),
        steps=4, evaluation=ExtrasEvaluation(), compile=compile,
    ), Sequences(train_batch_size=16, n_samples=64, batch_size=64)  # fmt: skip


def blackout(compile):
    torch.manual_seed(0)
    return Blackout(
        CountPerceptron((2,), hidden=16), PureDeath(5), FisherTimes(20, 6.0),
        optimizer=partial(torch.optim.Adam, lr=1e-2), compile=compile,
    ), Counts(train_batch_size=16)  # fmt: skip


def fitted(make, compile, steps=8, **options):
    method, data = make(compile)
    trainer = Trainer(
        accelerator="cpu", logger=False, enable_progress_bar=False, enable_checkpointing=False,
        max_steps=steps, max_epochs=-1, enable_model_summary=False, **options,
    )  # fmt: skip
    trainer.fit(method, data)
    return method, trainer, data


@pytest.mark.parametrize("make", [score_training, blackout])
def test_training_is_the_same(make, quick):
    plain, *_ = fitted(make, compile=False)
    assert not graphs()
    compiled, *_ = fitted(make, compile=True)
    assert graphs()
    torch.testing.assert_close(compiled.state_dict(), plain.state_dict(), rtol=1e-4, atol=1e-5)


def test_the_test_stage_is_the_same(quick):
    """A bound over the same times, of averaged networks that differ by rounding."""
    results = []
    for compile in (False, True):
        averaging = RampedWeightAveraging(0.9)
        method, trainer, data = fitted(score_training, compile, callbacks=[averaging])
        trainer.test(method, data, verbose=False)
        results.append(method.results["bound"])
    assert results[1] == pytest.approx(results[0], rel=1e-3)
    assert set(method.artifacts["network"]) == set(score_training(False)[0].network.state_dict())


def test_bfloat16_training_is_near_that_in_float32():
    """After eight steps the two differ by less than a fifth of the way that they have gone."""
    start = score_training(False)[0].state_dict()
    plain = fitted(score_training, False)[0].state_dict()
    low = fitted(score_training, False, precision="bf16-mixed")[0].state_dict()
    moved = torch.cat([(plain[name] - start[name]).flatten() for name in plain])
    apart = torch.cat([(plain[name] - low[name]).flatten() for name in plain])
    assert 0 < apart.norm() < 0.2 * moved.norm()


def test_a_compiled_prior_gives_the_same_scores(tmp_path, quick):
    def network():
        torch.manual_seed(1)
        transformer = ScoreTransformer(2, 16, 1, 2, 32, 0.0, 16)
        torch.nn.init.normal_(transformer.head.weight, std=0.1)
        return DenoisingScores(transformer, UniformProcess(2))

    torch.save({"network": network().state_dict()}, tmp_path / "samples.pt")
    problem = PairProblem(8, 1.0, exclusive_or)
    x = torch.randint(2, (5, 64), generator=torch.Generator().manual_seed(0))
    scores = [
        learned_prior(tmp_path, network(), UniformProcess(2), problem, compile=on).score(x, 0.4)
        for on in (False, True)
    ]
    assert graphs()
    torch.testing.assert_close(scores[1], scores[0])


def chains(operator, share, compile, block, steps, penalties, own):
    """Final states and shares of acceptance of 5 chains tied to their states at each penalty."""
    rng = torch.Generator().manual_seed(0)
    pairs = random_pairs(12, share)
    x = torch.randint(2, (5, 12), generator=rng)
    seen = operator(x[:, pairs[0]], x[:, pairs[1]])
    likelihood = PairLikelihood(pairs, seen if own else seen[0], operator, 2.0, 12)
    step = MetropolisStep(steps, True, SingleSiteMetropolis(block, compile))
    z, drawn = x, []
    for penalty in penalties:
        z, info = step(x, z, penalty, likelihood, 2, rng)
        drawn.append((z, info.acceptance))
    return drawn


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(("operator", "share"), [(exclusive_or, 0.5), (both, 4.0)])
def test_compiled_chains_draw_the_same(operator, share, own, quick):
    """To the last bit; one graph serves all penalties, a second the shorter last block."""
    given = (4, 22, (0.5, 1.0, 2.0), own)
    drawn = chains(operator, share, True, *given)
    assert graphs() == 2
    plain = chains(operator, share, False, *given)
    assert len({z.sum().item() for z, _ in plain}) > 1
    for (z, accepted), (same_z, same_accepted) in zip(drawn, plain, strict=True):
        assert torch.equal(z, same_z) and torch.equal(accepted, same_accepted)


def test_chains_with_a_cache_are_not_compiled(quick):
    """A target that is known by its log_prob alone keeps its last value outside of the steps."""

    class Few:
        length, n_states = 3, 2

        def log_prob(self, x):
            return x.double().sum(-1)

    x = torch.zeros(4, 3, dtype=torch.long)
    drawn = [
        SingleSiteMetropolis(2, compile)(Few(), x, 6, torch.Generator().manual_seed(0))[0]
        for compile in (False, True)
    ]
    assert not graphs() and torch.equal(*drawn)


@needs_a_compiler
@pytest.mark.long
def test_generated_code_does_the_same():
    plain, *_ = fitted(score_training, compile=False, steps=4)
    compiled, *_ = fitted(score_training, compile=True, steps=4)
    torch.testing.assert_close(compiled.state_dict(), plain.state_dict(), rtol=1e-3, atol=1e-4)
    given = (2, 6, (0.5, 2.0), True)
    drawn, same = (chains(both, 4.0, compile, *given) for compile in (True, False))
    for (z, accepted), (same_z, same_accepted) in zip(drawn, same, strict=True):
        assert torch.equal(z, same_z) and torch.equal(accepted, same_accepted)
