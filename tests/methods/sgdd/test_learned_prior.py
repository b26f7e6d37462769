"""A prior that another run has trained: its weights, its kernel, and weights that do not fit."""

import pytest
import torch

import jumpbench
from jumpbench.errors import UserError
from jumpbench.methods.sgdd import MetropolisStep, SplitGibbs
from jumpbench.methods.sgdd.learned_prior import NetworkScore, learned_prior
from jumpbench.methods.sgdd.pair_likelihood import exclusive_or
from jumpbench.methods.sgdd.problems.pairs import PairProblem
from jumpbench.networks.denoising_scores import DenoisingScores
from jumpbench.networks.score_convolution import ScoreConvolution
from jumpbench.processes.schedules import Geometric
from jumpbench.processes.uniform import UniformProcess

PROBLEM = PairProblem(8, 1.0, exclusive_or)


def network(channels=8):
    torch.manual_seed(channels)
    convolution = ScoreConvolution(2, 8, channels, condition=16)
    torch.nn.init.normal_(convolution.head.weight, std=0.1)
    return DenoisingScores(convolution, UniformProcess(2))


def test_trained_weights_are_used_and_not_changed(tmp_path, generator):
    trained = network()
    torch.save({"network": trained.state_dict()}, tmp_path / "samples.pt")
    prior = learned_prior(tmp_path, network(), UniformProcess(2), PROBLEM, max_batch=3)
    assert not any(p.requires_grad for p in prior.parameters()) and not prior.training
    x = torch.randint(2, (5, 64), generator=generator)
    noise = prior.schedule.total(0.4).float().expand(5)
    torch.testing.assert_close(prior.score(x, 0.4), trained(x, noise).exp().detach())
    own = prior.score(x, 0.4).gather(-1, x[..., None])
    torch.testing.assert_close(own, torch.ones(5, 64, 1))
    likelihood = PROBLEM.likelihood({"states": x})
    draws = SplitGibbs(2, 2, MetropolisStep(20))(prior, likelihood, generator, 5)
    assert draws.samples.shape == (5, 64)


def test_bfloat16_stays_in_the_network(tmp_path, generator):
    torch.save({"network": network(channels=32).state_dict()}, tmp_path / "samples.pt")
    x = torch.randint(2, (50, 64), generator=generator)
    priors = [
        learned_prior(tmp_path, network(channels=32), UniformProcess(2), PROBLEM, bfloat16=half)
        for half in (False, True)
    ]
    single, half = (prior.score(x, 0.4).log() for prior in priors)
    assert half.dtype == torch.float32 and not torch.equal(single, half)
    # 8 bits of every number: a handful of layers err by a few hundredths of the scores.
    error = (single - half).abs()
    assert error.max() < 0.05 * single.abs().max() and error.mean() < 0.01 * single.std()
    torch.testing.assert_close(half.gather(-1, x[..., None]), torch.zeros(50, 64, 1))
    assert not torch.is_autocast_enabled("cpu")


def test_laws_of_clean_digits_in_bfloat16():
    """The law of a clean pixel, with the prior of Table 4: what SVDD-PM, SMC and DPS draw from."""
    prior = jumpbench.load_model("sgdd/mnist-32").method
    generator = torch.Generator().manual_seed(0)
    digits = prior.sample(4, 1024, generator)
    schedule, process = Geometric(), UniformProcess(2)
    for t in (0.9, 0.7, 0.5, 0.3, 0.1):
        noise = schedule.total(t)
        x = process.sample(digits, noise, generator)
        single, half = (
            process.denoise(x, NetworkScore(prior.network, schedule, on)(x, t), noise)[..., 1]
            for on in (False, True)
        )
        difference = single - half
        assert 0 < difference.abs().max() < 0.02, t
        assert difference.mean().abs() < 1e-3, t


def test_weights_that_do_not_fit_are_refused(tmp_path):
    torch.save({"network": network().state_dict()}, tmp_path / "samples.pt")
    with pytest.raises(UserError, match="do not fit this network"):
        learned_prior(tmp_path, network(channels=16), UniformProcess(2), PROBLEM)
    torch.save({"samples": torch.zeros(1)}, tmp_path / "samples.pt")
    with pytest.raises(UserError, match="trained no network"):
        learned_prior(tmp_path, network(), UniformProcess(2), PROBLEM)
    with pytest.raises(ValueError, match="multiple of 4"):
        ScoreConvolution(2, 6)
    with pytest.raises(ValueError, match="side 8"):
        network()(torch.zeros(1, 49, dtype=torch.long), torch.ones(1))
