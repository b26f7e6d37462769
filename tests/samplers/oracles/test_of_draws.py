"""Oracles of weighted draws: right ones pass all, each wrong sampler fails its own."""

from functools import partial

import pytest
import torch

from jumpbench.samplers.annealed_importance import anneal
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.mcmc.gibbs import SystematicGibbs
from jumpbench.samplers.oracles.of_draws import of_sampler


def failed(found):
    return {each.oracle for each in found if each.passed is False}


def words(found):
    return " ".join(each.words for each in found)


def annealed(target, n, generator):
    run = anneal(
        target, SystematicGibbs(), 1, n, generator, torch.linspace(0, 1, 5, dtype=torch.double)
    )
    return Draws(run.x[0], run.log_weights[0], run.cost)


def forgotten(target, n, generator):
    """The weights of the draws are not there."""
    drawn = annealed(target, n, generator)
    return Draws(drawn.samples, None, drawn.cost)


def of_the_wrong_law(target, n, generator):
    drawn = annealed(target, n, generator)
    return Draws(drawn.samples, -drawn.log_weights, drawn.cost)


def of_another_constant(target, n, generator):
    drawn = annealed(target, n, generator)
    return Draws(drawn.samples, drawn.log_weights + 0.5, drawn.cost)


def half(target, n, generator):
    return annealed(target, n // 2, generator)


def a_tensor(target, n, generator):
    return annealed(target, n, generator).samples


def uncounted(target, n, generator):
    drawn = annealed(target, n, generator)
    return Draws(drawn.samples, drawn.log_weights)


def of_foreign_symbols(target, n, generator):
    drawn = annealed(target, n, generator)
    return Draws(drawn.samples - 1, drawn.log_weights, drawn.cost)


def unseeded(target, n, generator):
    return annealed(target, n, torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (annealed, set()),
        (forgotten, {"law"}),
        (of_the_wrong_law, {"weights", "law"}),
        (of_another_constant, {"weights"}),
        (half, {"runs"}),
        (a_tensor, {"runs"}),
        (uncounted, {"cost"}),
        (of_foreign_symbols, {"law"}),
        (unseeded, {"seeds"}),
    ],
)
def test_a_wrong_sampler_of_weighted_draws_fails(draw, expected):
    found = failed(of_sampler(lambda target: lambda n, generator: draw(target, n, generator)))
    # Draws that are all the same 32 times over have no spread to be within.
    assert found - ({"weights", "law"} if draw is unseeded else set()) == expected


def test_what_is_returned_instead_is_named():
    assert "returns Tensor: return Draws" in words(of_sampler(lambda t: partial(a_tensor, t)))
    assert "asked for 256 draws it returns 128" in words(of_sampler(lambda t: partial(half, t)))
