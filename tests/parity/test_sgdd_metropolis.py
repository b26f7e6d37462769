"""SGDD's Metropolis chains against its release, proposal by proposal and as whole chains."""

import math

import pytest
import torch

from jumpbench.methods.sgdd.likelihood_step import MetropolisStep, Tied, TiedDelta
from jumpbench.methods.sgdd.likelihoods import SiteLikelihood
from jumpbench.methods.sgdd.pair_likelihood import PairLikelihood, both, exclusive_or
from jumpbench.methods.sgdd.schedule import consistent_penalty, printed_penalty
from jumpbench.processes.uniform import UniformProcess
from jumpbench.samplers.mcmc import metropolis
from parity.arrays import agree, arrays

SYMBOLS = {"xor": 2, "and": 2, "infill": 5}
LEVELS = range(4)
PROPOSALS, CHAINS, LENGTH = 60, 4, 12
ADDED = 1e-5  # what the released code adds to the probability of a change

each_problem = pytest.mark.parametrize("name", SYMBOLS)
each_level = pytest.mark.parametrize("level", LEVELS)


def stored_chain(name, level):
    stored = arrays("sgdd", f"mh.{name}.")
    return stored | arrays("sgdd", f"mh.{name}.{level}.")


def likelihood_of(name, stored):
    sigma = float(stored["sigma"])
    if name == "infill":
        return SiteLikelihood.infill(stored["truth"], stored["mask"].bool(), 5, sigma)
    operator = {"xor": exclusive_or, "and": both}[name]
    return PairLikelihood(stored["pairs"], stored["observed"], operator, sigma, LENGTH)


@each_problem
def test_the_truth_is_what_was_observed(name):
    stored = arrays("sgdd", f"mh.{name}.")
    likelihood = likelihood_of(name, stored)
    assert (likelihood.log_likelihood(stored["truth"]) == 0).all()
    assert (likelihood.log_likelihood(stored["x"]) < 0).any()


@each_problem
@each_level
def test_penalty_of_a_mismatch(name, level):
    """As printed, without log(N - 1), and with a little added to the probability of a change."""
    stored, n = stored_chain(name, level), SYMBOLS[name]
    eta = float(stored["eta"])
    change = float(UniformProcess(n).change_probability(eta))
    ours = printed_penalty(eta, n)
    agree(ours - math.log1p(ADDED / change), stored["penalty"], 1e-6)
    agree(consistent_penalty(eta, n) - ours, torch.tensor(n - 1.0).log(), 1e-6)
    if level == 0:
        assert abs(ours - stored["penalty"] - {2: 0.18, 5: 0.12}[n]) < 0.005


@each_problem
@each_level
def test_log_ratio_of_every_proposal(name, level):
    stored, n = stored_chain(name, level), SYMBOLS[name]
    likelihood, penalty = likelihood_of(name, stored), float(stored["penalty"])
    z, x = stored["x"].clone(), stored["x"]
    delta = TiedDelta(likelihood.changes(z)[0], x, penalty)
    tied = Tied(likelihood, x, penalty, n)
    for k in range(PROPOSALS):
        site, token, theirs = (stored[part][k] for part in ("site", "token", "log_ratio"))
        proposed = z.scatter(1, site[:, None], token[:, None])
        agree(delta(z, site, token), theirs.float(), 2e-5)
        agree(tied.log_prob(proposed) - tied.log_prob(z), theirs, 1e-5)
        z = torch.where((stored["u"][k].log() < theirs)[:, None], proposed, z)
    assert torch.equal(z, stored["end"])


@each_problem
@each_level
def test_chains_with_the_recorded_draws(name, level, monkeypatch):
    stored, n = stored_chain(name, level), SYMBOLS[name]
    rows = iter(range(0, PROPOSALS, 6))

    def draws(sites, tokens, uniforms, indices, length, n_states, generator):
        assert (length, n_states, len(sites)) == (LENGTH, n, 6)
        k = next(rows)
        for ours, part in ((sites, "site"), (tokens, "token"), (uniforms, "u")):
            ours.copy_(stored[part][k : k + 6])

    monkeypatch.setattr(metropolis, "draw_proposals", draws)
    step = MetropolisStep(PROPOSALS, kernel=metropolis.SingleSiteMetropolis(block=6))
    x, penalty = stored["x"], float(stored["penalty"])
    end, info = step(x, x, penalty, likelihood_of(name, stored), n, None)
    assert torch.equal(end, stored["end"])
    accepted = (stored["u"].log() < stored["log_ratio"]).double().mean(0)
    agree(info.acceptance, accepted, 1e-6)
