"""The GFlowNet on graphs: its steps by enumeration, its weights, its training."""

from functools import partial
from itertools import product

import pytest
import torch
from lightning import Trainer

from jumpbench.data.graphs import GraphData, barabasi_albert, erdos_renyi
from jumpbench.errors import UserError
from jumpbench.evaluations.graphs import GraphEvaluation
from jumpbench.methods.dnfs.baselines.graph_gflownet import (
    CODES,
    GraphTrajectoryBalance,
    built,
    parents,
    undecided,
)
from jumpbench.networks.graph_isomorphism import GraphIsomorphism
from jumpbench.solvers.exhaustive import best_states
from jumpbench.targets.graphs import Cuts, Graphs, IndependentSets

EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3), (4, 5)]
LAWS = [IndependentSets, Cuts]


def law_of(kind, copies=1, beta=0.7):
    graph = Graphs.of([(6, EDGES)], 7)
    return kind(graph, beta).rows(torch.zeros(copies, dtype=torch.long))


def reachable(kind):
    """All states that choices lead to, those without a further choice, and each one's parents."""
    law = law_of(kind)
    frontier, complete, above = {(0,) * 7}, set(), {}
    while frontier:
        onward = set()
        for state in frontier:
            x = torch.tensor([state])
            free = undecided(law, x, law.flip_log_ratios(x))[0].nonzero().flatten().tolist()
            if not free:
                complete.add(state)
            for node in free:
                after = tuple(1 if i == node else bit for i, bit in enumerate(state))
                above.setdefault(after, set()).add(node)
                onward.add(after)
        frontier = onward
    return complete, above


def network():
    torch.manual_seed(0)
    net = GraphIsomorphism(CODES, hidden=16, layers=2)
    with torch.no_grad():
        net.readout[1].weight.mul_(4)  # far from uniform choices
    return net


@pytest.mark.parametrize("kind", LAWS)
def test_what_may_have_come_before_is_what_leads_here(kind):
    law = law_of(kind)
    _, above = reachable(kind)
    for state, nodes in above.items():
        x = torch.tensor([state])
        found = parents(law, x, law.flip_log_ratios(x))[0].nonzero().flatten().tolist()
        assert set(found) == nodes


def test_complete_states_are_the_maximal_independent_sets_and_hold_a_maximum_cut():
    complete, _ = reachable(IndependentSets)
    chosen = {x for x in product((0, 1), repeat=6) if not any(x[i] and x[j] for i, j in EDGES)}
    maximal = {
        x for x in chosen
        if not any(tuple(1 if i == n else b for i, b in enumerate(x)) in chosen
                   for n in range(6) if not x[n])
    }  # fmt: skip
    assert complete == {(*x, 0) for x in maximal}
    law, (cuts, _) = law_of(Cuts), reachable(Cuts)
    states = torch.tensor(sorted(cuts))
    best = law.score(best_states(law))
    assert law_of(Cuts, len(states)).score(states).max() == best


@pytest.mark.parametrize("kind", LAWS)
def test_weights_of_any_policy_add_up_to_the_law(kind):
    """E[rho P_B / P_F] = sum of rho over complete states, within five standard errors."""
    n = 20_000
    law = law_of(kind, n)
    with torch.no_grad():
        x, forward, backward = built(network(), law, torch.Generator().manual_seed(1))
    complete, _ = reachable(kind)
    assert set(map(tuple, x.unique(dim=0).tolist())) <= complete
    weight = (law.log_prob(x) + backward - forward).double().exp()
    states = torch.tensor(sorted(complete))
    z = law_of(kind, len(states)).log_prob(states).double().exp().sum()
    assert abs(weight.mean() - z) < 5 * weight.std() / n**0.5
    assert weight.std() > 0.1 * weight.mean()  # so that the test can fail


def test_the_network_follows_a_relabelling_and_not_the_padding():
    net = network()
    law = law_of(IndependentSets)
    codes = torch.tensor([[0, 1, 2, 0, 2, 0, 2]])
    logits = net(codes, law.graphs)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    place = {int(old): new for new, old in enumerate(order)}
    other = Graphs.of([(6, [(place[i], place[j]) for i, j in EDGES])], 9)
    padded = torch.cat([codes[:, order], torch.tensor([[1, 0, 2]])], 1)
    torch.testing.assert_close(net(padded, other)[:, :6], logits[:, order])


@pytest.mark.parametrize("kind, family", [(IndependentSets, erdos_renyi), (Cuts, barabasi_albert)])
def test_training_makes_better_solutions(kind, family):
    """The balance's variance falls below 0.4 of its first values; solutions stay feasible."""
    data = GraphData(partial(family, low=6, high=9), length=9, n_train=12, n_test=10)
    method = GraphTrajectoryBalance(
        problem=kind, network=partial(GraphIsomorphism, hidden=16, layers=2), chains=64,
        optimizer=partial(torch.optim.Adam, lr=5e-3),
        graphs_per_rollout=8, beta_start=2.0, beta=2.0, warm_up=1, chains_per_graph=5,
        evaluation=GraphEvaluation(),
    )  # fmt: skip
    losses = []
    method.log = lambda name, value, **_: losses.append(float(value))
    trainer = Trainer(
        max_steps=60, max_epochs=-1, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(method, data)
    assert sum(losses[-10:]) < 0.4 * sum(losses[:10])
    trainer.test(method, data, verbose=False)
    assert method.results["feasible@policy"] == 1.0
    assert method.results["network_evaluations"] == 9.0
    assert method.spent.network_evaluations == 60 * 64 * 9


def test_chains_must_be_shared_out():
    with pytest.raises(UserError, match="chains=16 must be a multiple"):
        GraphTrajectoryBalance(problem=IndependentSets, chains=16)
