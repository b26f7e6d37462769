"""Flow samplers and chains on graphs: end to end on small graphs, with the optimum beside them."""

from functools import partial

import pytest
import torch
from lightning import Trainer

from jumpbench.data.graphs import GraphData, erdos_renyi
from jumpbench.errors import UserError
from jumpbench.evaluations.graphs import GraphEvaluation
from jumpbench.methods.dnfs.baselines.solvers import AnnealedChains, ExactSolutions
from jumpbench.methods.dnfs.graphs import GraphDNFS, chains_of, solutions
from jumpbench.methods.dnfs.paths import sample, simulate_flow, time_grid
from jumpbench.networks.legf import LeGF
from jumpbench.samplers.annealed_jumps import KernelMoves
from jumpbench.samplers.annealed_path import PathLaw
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.mcmc.langevin import DiscreteLangevin, step_size
from jumpbench.solvers.exhaustive import best_states
from jumpbench.targets.graphs import Cuts, Graphs, IndependentSets
from oracles import generator

NETWORK = partial(LeGF, hidden=16, heads=2, layers=1)
MOVE = KernelMoves(DiscreteLangevin(step_size(0.2)), 2)


def data():
    return GraphData(
        partial(erdos_renyi, low=6, high=9), length=9, n_train=12, n_test=10, batch_size=4
    )


def run(method, steps=0, folder=None):
    trainer = Trainer(
        max_steps=steps, max_epochs=-1, accelerator="cpu", logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    module = data()
    if steps:
        trainer.fit(method, module)
    trainer.test(method, module, verbose=False)
    if folder is not None:
        torch.save(method.artifacts, folder / "samples.pt")
    return method


def flow(**kwargs):
    defaults = {
        "n_steps": 8, "chains": 32, "batch_size": 64, "graphs_per_rollout": 4,
        "refresh_every": 10, "warm_up": 20, "chains_per_graph": 5,
    }  # fmt: skip
    return GraphDNFS(IndependentSets, 9, NETWORK, **{**defaults, **kwargs})


def test_trajectories_are_those_of_passes_that_read_the_graphs_anew():
    """Once for all passes, and in every one, the network makes the same of the graphs."""
    torch.manual_seed(0)
    network = NETWORK(9, 2)
    torch.nn.init.normal_(network.distance_bias)

    class Anew(torch.nn.Module):
        def forward(self, x, t, graphs):
            return network(x, t, graphs)

    graphs = Graphs.of([(5, [(0, 1), (1, 2), (2, 3), (3, 4)]), (7, [(0, 6), (1, 5), (2, 4)])], 9)
    laws = chains_of(IndependentSets, graphs, 2.0, 20)
    times = time_grid(6, "cpu")
    kept, anew = (sample(n, laws, times, 40, generator(1))[0] for n in (network, Anew()))
    assert torch.equal(kept, anew) and kept.float().mean() > 0.1
    one = IndependentSets(graphs.rows(torch.tensor([1])), 2.0)
    paths = [simulate_flow(n, one, times, 30, generator(2)) for n in (network, Anew())]
    assert torch.equal(paths[0].log_weights, paths[1].log_weights)
    assert not network.prepared(graphs, 2).streams.equal(network.prepared(graphs.rows(
        torch.tensor([1, 0])), 2).streams)  # fmt: skip


def test_rows_share_graphs_and_are_judged_against_their_optimum(tmp_path):
    exact = run(ExactSolutions(IndependentSets, best_states, GraphEvaluation()), folder=tmp_path)
    judge = GraphEvaluation(str(tmp_path))
    chains = run(AnnealedChains(IndependentSets, {"dmala": MOVE}, 16, evaluation=judge))
    trained = run(flow(evaluation=judge, moves={"flow": None, "dmala": MOVE}), steps=30)
    optimum = exact.results["size"]
    for results in (chains.results, trained.results):
        assert results["optimum"] == optimum
        assert results["size_mean"] <= results["size_best"] <= optimum
        drop = 100 * (1 - results["size_mean"] / optimum)
        assert results["drop_mean"] == pytest.approx(drop)
    assert chains.results["drop_best"] == pytest.approx(0, abs=1e-9)
    results = trained.results
    assert results["size"] == results["size@flow"]
    assert results["size_mean@dmala"] > results["size_mean@flow"]
    assert results["network_evaluations@flow"] == 8 and results["energy_evaluations@flow"] == 0
    # A step of two DMALA moves asks for three tables: each a state and its real nodes flipped.
    module = data()
    module.setup("test")
    nodes = torch.cat([batch.sizes for batch in module.test_dataloader()]).double().mean()
    assert results["energy_evaluations@dmala"] == pytest.approx(float(8 * 3 * (1 + nodes)))
    # Chains without a flow know the table of the state at which the last time left them.
    asked = float((1 + 16 * 2) * (1 + nodes))
    assert chains.results["energy_evaluations"] == pytest.approx(asked)
    assert results["n_samples"] == 50


def test_raw_ends_are_judged_beside_what_decoding_makes_of_them():
    """Conflicts edge by edge, log rho / beta from its definition; cuts have no conflicts."""
    edges = [[(0, 1), (1, 2), (2, 3)], [(0, 1), (0, 2), (1, 2), (3, 4)]]
    graphs = Graphs.of([(4, edges[0]), (5, edges[1])])
    index = torch.arange(2).repeat_interleave(30)
    x = torch.randint(2, (60, 5), generator=generator()) * graphs.mask[index]
    sets = IndependentSets(graphs, beta=3.0, penalty=1.5).rows(index)
    cuts = Cuts(graphs, beta=0.5).rows(index)
    conflicts, gain, cut = [], [], []
    for row, graph in zip(x.tolist(), index.tolist(), strict=True):
        conflicts.append(sum(row[a] * row[b] for a, b in edges[graph]))
        gain.append(sum(row) - 1.5 * conflicts[-1])
        cut.append(sum(row[a] != row[b] for a, b in edges[graph]) - len(edges[graph]) / 2)
    drawn, whole = solutions(sets, x, Cost()), solutions(cuts, x, Cost())
    assert drawn.extras["conflicts"].tolist() == conflicts and max(conflicts) > 2
    assert drawn.extras["objective"].tolist() == pytest.approx(gain, abs=1e-5)
    assert whole.extras["conflicts"].abs().max() == 0
    assert whole.extras["objective"].tolist() == pytest.approx(cut, abs=1e-5)
    judge = GraphEvaluation()
    judge.update(drawn, judge.keep(graphs))
    results = judge.results()
    assert results["conflicts"] == pytest.approx(sum(conflicts) / 60)
    assert results["objective"] == pytest.approx(sum(gain) / 60, abs=1e-5)


def test_training_on_graphs_resumes(tmp_path):
    def trained(steps, save=False, resume=None):
        trainer = Trainer(
            max_steps=steps, max_epochs=-1, accelerator="cpu", logger=False,
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        )  # fmt: skip
        method = flow()
        trainer.fit(method, data(), ckpt_path=resume, weights_only=True if resume else None)
        if save:
            trainer.save_checkpoint(tmp_path / "last.ckpt")
        return method

    whole = trained(25)
    trained(15, save=True)
    resumed = trained(25, resume=tmp_path / "last.ckpt")
    for a, b in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(a, b)


def test_inverse_temperature_grows_and_stays():
    method = flow(beta_start=1.0, beta=5.0, warm_up=40)
    assert [method.beta_at(step) for step in (0, 20, 40, 90)] == [1.0, 3.0, 5.0, 5.0]


def test_too_few_graphs_are_named():
    with pytest.raises(UserError, match="12 training graphs, fewer than"):
        run(flow(graphs_per_rollout=16), steps=1)
    with pytest.raises(UserError, match="divide chains=32"):
        flow(graphs_per_rollout=5)


def test_an_optimum_of_other_graphs_is_refused(tmp_path):
    exact = run(ExactSolutions(IndependentSets, best_states, GraphEvaluation()), folder=tmp_path)
    artifacts = torch.load(tmp_path / "samples.pt")
    torch.save({**artifacts, "edges": artifacts["edges"] + 1}, tmp_path / "samples.pt")
    exact.evaluation = GraphEvaluation(str(tmp_path))
    with pytest.raises(UserError, match="solves other graphs: they differ in their edges"):
        run(exact)


def test_moves_leave_the_path_law_invariant_and_pads_alone():
    """A move from exact samples of p_t is again an exact sample of p_t (chi squared)."""
    graph = Graphs.of([(4, [(0, 1), (1, 2), (2, 3)])], 6)
    n = 6000
    laws = IndependentSets(graph, 2.0).rows(torch.zeros(n, dtype=torch.long))
    states = torch.tensor([[b >> i & 1 for i in range(4)] + [0, 0] for b in range(16)])
    p = (0.7 * laws.rows(torch.zeros(16, dtype=torch.long)).log_prob(states)).double().softmax(0)
    g = torch.Generator().manual_seed(0)
    x = states[torch.multinomial(p, n, True, generator=g)]
    y, spent = MOVE(laws, x, torch.tensor(0.7), g)
    assert (y[:, 4:] == 0).all() and (y != x).any(1).float().mean() > 0.3
    counts = torch.bincount((y[:, :4] * torch.tensor([1, 2, 4, 8])).sum(1), minlength=16)
    assert ((counts - n * p) ** 2 / (n * p)).sum() < 45
    assert spent == Cost(energy_evaluations=3 * (1 + 4), sequential_steps=2)
    ratios = PathLaw(laws, 0.7).neighbor_log_ratios(x)
    assert (ratios[:, 4:, 1] == -torch.inf).all() and (ratios[:, 4:, 0] == 0).all()


def test_a_trained_flow_draws_from_the_laws_of_new_graphs():
    """The mean objective of samples of test graphs is near the enumerated one (untrained: far)."""
    beta, chains = 1.0, 200
    problem = partial(IndependentSets, penalty=1.0001)
    settings = {"beta_start": beta, "beta": beta, "chains": 128, "batch_size": 64, "n_steps": 16,
                "chains_per_graph": chains, "refresh_every": 20}  # fmt: skip
    method = GraphDNFS(
        problem, 9, partial(LeGF, hidden=32, heads=4, layers=2, readout_scale=0.1),
        lambda parameters: torch.optim.AdamW(parameters, lr=5e-3), graphs_per_rollout=8, **settings,
    )  # fmt: skip
    trainer = Trainer(
        max_steps=250, max_epochs=-1, accelerator="cpu", logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    before = law_errors(method, problem, beta, 40)
    trainer.fit(method, data())
    after = law_errors(method, problem, beta, chains)
    assert before > 0.5 and after < 0.15, (before, after)  # 0.66 and 0.09; blind to edges: 0.59


def law_errors(method, problem, beta, chains):
    """Mean over graphs of |mean log rho of the flow's samples - that of the exact law|."""
    graphs = data().test_dataloader()
    errors = []
    for batch in graphs:
        laws = chains_of(problem, batch, beta, chains)
        with torch.no_grad():
            x, _ = sample(method.network, laws, time_grid(method.learner.n_steps, "cpu"), len(laws),
                          torch.Generator().manual_seed(0), None)  # fmt: skip
        drawn = laws.log_prob(x).view(len(batch), -1).mean(1)
        for index in range(len(batch)):
            n = int(batch.sizes[index])
            states = torch.zeros(2**n, 9, dtype=torch.long)
            states[:, :n] = torch.cartesian_prod(*[torch.tensor([0, 1])] * n)
            one = problem(batch.rows(torch.full((2**n,), index)), beta)
            log_prob = one.log_prob(states)
            errors.append((drawn[index] - log_prob.softmax(0) @ log_prob).abs())
    return float(torch.stack(errors).mean())


def test_curves_are_of_each_law_since_its_normaliser_is_its_own(monkeypatch):
    """Rings of 16 and 20 nodes as good as without energy, and no rates: all weights of a law are
    equal, and log Z is log 2^16 or log 2^20."""
    rings = Graphs.of([(n, [(i, (i + 1) % n) for i in range(n)]) for n in (16, 20)])
    laws = IndependentSets(rings, 1e-9)
    method = GraphDNFS(IndependentSets, 20, NETWORK, n_steps=8, chains=64, graphs_per_rollout=2)
    monkeypatch.setattr(method, "log_dict", lambda values: None)
    method.learner.refresh(laws, generator())
    rows = laws.rows(torch.arange(2).repeat_interleave(32))
    still = lambda x, t, graphs: torch.zeros(*x.shape, 2)  # noqa: E731
    method._record(simulate_flow(still, rows, time_grid(8), 64, generator()))
    last = {name: values[-1] for name, values in method.curves.items()}
    assert last["ess"] == pytest.approx(1.0, abs=1e-6)
    assert last["slope_std"] < 1e-6 and last["integrand_std"] < 1e-6
