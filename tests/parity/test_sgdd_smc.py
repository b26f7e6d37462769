"""One step of sequential Monte Carlo on a masked model against the copy of DRAKES in SGDD's release

The denoiser is a formula: logits of the site plus logits of every symbol of the sequence.
"""

import pytest
import torch

from jumpbench.methods.sgdd.baselines import smc
from jumpbench.methods.sgdd.baselines.common import clean_estimates
from jumpbench.methods.sgdd.baselines.site_values import mean_values
from jumpbench.methods.sgdd.likelihoods import Reward
from jumpbench.methods.sgdd.prior import DenoiserPrior, analytic
from jumpbench.processes.masked import MaskedProcess
from jumpbench.processes.schedules import LogLinear
from parity.arrays import agree, arrays

STORED = arrays("sgdd_smc")
MASK = 4
SITES = torch.arange(8)

each_step = pytest.mark.parametrize("step", range(3))


def clean(x, t):
    """Law (B, 8, 5) of the clean symbols; known ones stay, and none is the mask."""
    logits = STORED["site_logits"] + STORED["context_logits"][x].sum(-2, keepdim=True)
    law = logits.index_fill(-1, torch.tensor(MASK), -torch.inf).softmax(-1)
    known = torch.nn.functional.one_hot(x, MASK + 1).to(law.dtype)
    return torch.where((x == MASK)[..., None], law, known)


PRIOR = DenoiserPrior(clean, MaskedProcess(4), 8, schedule=LogLinear(1e-3), reverse_step=analytic)
REWARD = Reward(lambda x: STORED["reward"][SITES, x].sum(-1), beta=1 / float(STORED["alpha"]))


def part(step):
    stored = arrays("sgdd_smc", f"{step}.")
    return stored, float(stored["t"]), float(stored["s"])


def value(x, t):
    """log p(y|x_0) of the most probable clean sequence, (B,)."""
    (mean_value,) = mean_values(clean_estimates(PRIOR, [t], None), REWARD, 1)
    return mean_value(x, torch.arange(len(x)), torch.Generator())


@each_step
def test_law_of_the_proposals(step):
    stored, t, s = part(step)
    masked = stored["x"] == MASK
    assert masked.any() and not masked.all()
    theirs = stored["weights_of_symbols"]
    theirs = theirs / theirs.sum(-1, keepdim=True)
    ours = PRIOR.step_probabilities(stored["x"], t, s)
    agree(ours[masked], theirs[masked], 1e-10)
    stay = torch.nn.functional.one_hot(stored["x"], 5).double()
    agree(ours[~masked], stay[~masked], 0)
    assert (ours.gather(-1, stored["new"][..., None]) > 0).all()


@each_step
def test_probabilities_of_resampling(step):
    stored, t, s = part(step)
    ours = (value(stored["new"], s) - value(stored["x"], t)).softmax(0)
    assert stored["resampling"].std() > 0.01
    agree(ours, stored["resampling"], 1e-10)


class Replay(smc.SMC):
    """Whose two steps lead to stored states."""

    def proposals(self, prior, likelihood, times):
        return [lambda x, generator, to=to: (to.unsqueeze(0), 0.0) for to in self.states]


@each_step
def test_weights_that_the_sampler_resamples_by(step, monkeypatch):
    stored, t, s = part(step)
    resampled = []

    def in_place(log_weights, generator):
        resampled.append(log_weights.softmax(-1).squeeze(0))
        return torch.arange(log_weights.shape[-1]).unsqueeze(0)

    monkeypatch.setattr(smc, "sampling_times", lambda n_steps: [1.0, t, s])
    monkeypatch.setattr(smc, "multinomial", in_place)
    sampler = Replay(particles=10, n_steps=2, x0_steps=None, n_draws=1)
    sampler.states = stored["x"], stored["new"]
    sampler(PRIOR, REWARD, torch.Generator(), 1)
    agree(resampled[-1], stored["resampling"], 1e-10)
