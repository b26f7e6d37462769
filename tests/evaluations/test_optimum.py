"""Judging samples of a hard-core model by a proven optimum."""

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.evaluations.exact_laws import ExactEvaluation
from jumpbench.evaluations.optimum import OptimumEvaluation
from jumpbench.samplers.draws import Draws
from jumpbench.targets.boltzmann import SpinGlass, hard_core, random_machine
from jumpbench.targets.enumeration import all_states
from oracles import generator

pytest.importorskip("ortools")


def judged(evaluation, samples):
    evaluation.update(Draws(samples), {})
    return evaluation.results()


@pytest.mark.parametrize("graph", [0, 3, 12])
def test_the_solver_and_the_enumeration_know_one_optimum(graph):
    target = hard_core(12, 4.0, graph=graph)
    states = all_states(12, 2)
    best = target.energy(states) == target.energy(states).min()
    for samples in (states, states[~best], torch.randint(2, (50, 12), generator=generator())):
        solved = judged(OptimumEvaluation(target), samples)
        exact = judged(ExactEvaluation(target), samples)
        assert solved == {name: exact[name] for name in solved}
    assert judged(OptimumEvaluation(target), states)["ground_share"] == best.double().mean()
    assert judged(OptimumEvaluation(target), states[~best])["best_gap"] == 1


def test_a_graph_that_no_enumeration_reaches():
    target = hard_core(40, 4.0, graph=40)
    empty = judged(OptimumEvaluation(target), torch.zeros(3, 40, dtype=torch.long))
    assert 10 < empty["best_gap"] < 25 and empty["ground_share"] == 0


@pytest.mark.parametrize("target", [random_machine(6, 1.0), SpinGlass(3, 1.0)])
def test_other_machines_are_refused(target):
    with pytest.raises(UserError, match="is no hard-core model"):
        OptimumEvaluation(target)
