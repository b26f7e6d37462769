"""The learner: what it stores, the loss, several laws at once, the training of a tiny lattice."""

from functools import partial

import pytest
import torch
from lightning import Trainer
from torch import nn

from jumpbench.data.numbers import Numbers
from jumpbench.errors import UserError
from jumpbench.methods.dnfs.estimates import control_variate, fitted_control_variate, plain_mean
from jumpbench.methods.dnfs.learner import Learner
from jumpbench.methods.dnfs.module import DNFS
from jumpbench.methods.dnfs.store import Store
from jumpbench.networks.legf import LeGF
from jumpbench.networks.letf import LeTF
from jumpbench.networks.locally_equivariant import LocallyEquivariantPerceptron
from jumpbench.samplers.annealed_path import control_integrand, flux_of, slope_of
from jumpbench.targets.base import generic_neighbor_log_ratios
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.graphs import Graphs, IndependentSets
from jumpbench.targets.ising import Ising
from oracles import generator

GRAPHS = [(5, [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)]), (4, [(0, 1), (2, 3), (1, 3)])]


def tiny(**kwargs):
    torch.manual_seed(0)
    network = LeTF(9, 2, hidden=8, layers=1, heads=2)
    defaults = {"n_steps": 4, "chains": 8, "stored": 2, "batch_size": 16}
    return Learner(network, **{**defaults, **kwargs})


def test_store_is_first_in_first_out_and_draws_without_replacement():
    store = Store(2)
    for number in range(3):
        store.add(torch.full((3, 4, 5), number), torch.full((3, 1), float(number)))
    assert store.tensors["states"][:, 0, 0, 0].tolist() == [2, 1]
    assert (store.newest, store.filled) == (0, 2)
    slot, point, chain = (torch.cat(p) for p in zip(*(store.draw(6, generator()) for _ in range(4)),
                                                    strict=True))  # fmt: skip
    assert len(set(zip(slot.tolist(), point.tolist(), chain.tolist(), strict=True))) == 24


def test_more_pairs_than_are_stored_are_drawn_with_replacement():
    store = Store(2)
    store.add(torch.zeros(3, 4, 5), torch.zeros(3, 1))
    slot, point, chain = store.draw(30, generator())
    assert len(slot) == 30 and (slot == 0).all()
    assert torch.bincount(point * 4 + chain, minlength=12).min() >= 2


def test_loss_is_the_mean_squared_residual_of_the_stored_pairs():
    learner, target = tiny(batch_size=80), Ising(3, 0.4)
    learner.refresh(target, generator(1))
    paths = learner.refresh(target, generator(2))
    c = paths.integrands.mean(1)
    expected = []
    with torch.no_grad():
        for slot in range(2):
            for k in range(5):
                x = learner.store.tensors["states"][slot, k].long()
                t = torch.full((8,), k / 4)
                flux = flux_of(learner.network, target, x, t)
                xi = control_integrand(slope_of(target, x), t, flux, 5.0)
                expected.append((xi - c[k]) ** 2)  # the newest estimate for both slots
    loss = learner.loss(generator(3))
    assert float(loss) == pytest.approx(float(torch.cat(expected).mean()), rel=1e-5)
    loss.backward()
    assert all(p.grad is not None for p in learner.network.parameters())
    assert learner.meter.network == 2 * 8 * 5 + 80


def test_kept_slopes_give_the_same_loss_without_evaluating_the_target():
    target = Ising(3, 0.4)
    plain, keeping = tiny(), tiny(keep_slopes=True)
    for learner in (plain, keeping):
        learner.refresh(target, generator(1))
    spent = keeping.meter.energy
    assert torch.allclose(plain.loss(generator(2)), keeping.loss(generator(2)), rtol=1e-6)
    assert keeping.meter.energy == spent and plain.meter.energy > spent


def test_every_law_has_its_own_estimate_and_keeps_its_graph():
    torch.manual_seed(0)
    learner = Learner(LeGF(5, hidden=8, heads=2, layers=1), 4, 12, stored=2, batch_size=120)
    graphs, made = Graphs.of(GRAPHS, 5), []
    for number, beta in enumerate((0.5, 2.0, 3.0)):
        laws = IndependentSets(graphs.relabelled(generator(number)), beta)
        made.append((laws, learner.refresh(laws, generator(number))))
    expected = []
    with torch.no_grad():
        for laws, paths in made[1:]:
            each = laws.rows(torch.arange(2).repeat_interleave(6))
            c = paths.integrands.view(5, 2, 6).mean(-1, keepdim=True)
            expected.append((paths.integrands.view(5, 2, 6) - c) ** 2)
            assert ((paths.states == 1) & ~each.mask).sum() == 0
    loss = learner.loss(generator(9))
    assert float(loss) == pytest.approx(float(torch.cat(expected).mean()), rel=1e-4)
    assert learner.target.beta.tolist() == [3.0, 3.0, 2.0, 2.0]


def test_estimates():
    g = generator()
    slopes = torch.randn(3, 1, 500, generator=g) * 3 + 1
    control = 2 * (slopes - 1) + 0.1 * torch.randn(3, 1, 500, generator=g)
    assert torch.allclose(plain_mean(slopes, slopes - control), slopes.mean(-1))
    assert torch.allclose(control_variate(slopes, slopes - control), (slopes - control).mean(-1))
    fitted = fitted_control_variate(slopes, slopes - control)
    assert (fitted - 1).abs().max() < 0.02 < (plain_mean(slopes, control) - 1).abs().max()


@pytest.mark.parametrize("what", ["n_steps", "chains", "stored", "batch_size"])
def test_counts_below_one_are_refused(what):
    with pytest.raises(UserError, match="at least 1"):
        tiny(**{what: 0})


def test_chains_must_be_shared_by_the_laws():
    learner = Learner(LeGF(5, hidden=8, heads=2, layers=1), 4, 7)
    with pytest.raises(UserError, match="7 chains cannot be shared out over 2 laws"):
        learner.refresh(IndependentSets(Graphs.of(GRAPHS, 5)), generator())


PERCEPTRON = partial(LocallyEquivariantPerceptron, hidden=32)


def trained(steps=60, folder=None, resume=None, **kwargs):
    method = DNFS(
        kwargs.pop("target", Ising(3, 0.3)), PERCEPTRON, n_steps=8, chains=64, batch_size=64,
        refresh_every=20, **kwargs,
    )  # fmt: skip
    trainer = Trainer(
        max_steps=steps, max_epochs=-1, accelerator="cpu", logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(method, Numbers(), ckpt_path=resume, weights_only=True if resume else None)
    if folder is not None:
        trainer.save_checkpoint(folder / "last.ckpt")
    trainer.test(method, Numbers(256), verbose=False)
    return method


def test_training_raises_the_effective_sample_size_and_finds_log_z():
    method = trained(steps=300)
    first, last = method.curves["ess"][0], method.results["ess"]
    assert last > 0.9 > first
    exact = enumerate_law(Ising(3, 0.3)).log_z
    assert abs(method.results["log_z"] - exact) < 4 * method.results["log_z_error"] + 0.01
    assert method.results["network_evaluations"] == 9
    assert method.artifacts["curves"]["step"].tolist() == list(range(0, 300, 20))


@pytest.mark.parametrize("steps", [30, 40])
def test_a_resumed_training_is_the_uninterrupted_one(steps, tmp_path):
    whole = trained(60)
    trained(steps, tmp_path)
    resumed = trained(60, resume=tmp_path / "last.ckpt")
    for a, b in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(a, b)
    assert whole.results["log_z"] == resumed.results["log_z"]
    assert torch.equal(whole.artifacts["curves"]["ess"], resumed.artifacts["curves"]["ess"])
    losses = [m.artifacts["curves"]["loss"][1:] for m in (whole, resumed)]
    assert torch.allclose(*losses, rtol=1e-6)


def test_an_energy_with_parameters_stays_untouched():
    class Energy(nn.Module):
        length, n_states = 6, 2

        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))

        def log_prob(self, x):
            return -self.layers(x.float()).squeeze(-1)

        def neighbor_log_ratios(self, x):
            return generic_neighbor_log_ratios(self.log_prob, x, 2)

    torch.manual_seed(0)
    energy = Energy()
    before = [p.clone() for p in energy.parameters()]
    method = trained(target=energy)
    assert all(torch.equal(a, b) for a, b in zip(before, energy.parameters(), strict=True))
    assert all(p.grad is None for p in energy.parameters())
    owned = {id(p) for p in method.parameters()}
    assert not owned & {id(p) for p in energy.parameters()}
    assert method.results["log_z_error"] > 0
