"""Energy models: objectives by hand, joint training with a flow, learnt Ising couplings."""

import math
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from lightning import Trainer

from jumpbench.data.densities import DensityData
from jumpbench.data.ising_samples import CouplingError, IsingSamples, lattice_couplings
from jumpbench.errors import UserError
from jumpbench.evaluations.densities import DensityEvaluation
from jumpbench.methods.dnfs.baselines.energy_models import EnergyModel, trained_energy
from jumpbench.methods.dnfs.energy_judging import uniform_log_z
from jumpbench.methods.dnfs.energy_losses import (
    EnergyDiscrepancy,
    PersistentChains,
    RatioMatching,
    contrastive,
)
from jumpbench.methods.dnfs.energy_training import EnergyDNFS
from jumpbench.networks.bit_energy import BitEnergy
from jumpbench.networks.coupling_energy import CouplingEnergy
from jumpbench.networks.letf import LeTF
from jumpbench.networks.locally_equivariant import LocallyEquivariantPerceptron
from jumpbench.samplers.mcmc.gibbs import SystematicGibbs
from jumpbench.samplers.mcmc.locally_balanced import LocallyBalanced
from jumpbench.targets.base import generic_neighbor_log_ratios
from jumpbench.targets.energy_network import EnergyNetwork
from jumpbench.targets.enumeration import all_states, enumerate_law
from oracles import generator

FLOW = partial(LocallyEquivariantPerceptron, hidden=32)


def fit(method, data, steps, folder=None):
    trainer = Trainer(
        max_steps=steps, max_epochs=-1, accelerator="cpu", logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(method, data)
    if folder is not None:
        (folder / "checkpoints").mkdir()
        trainer.save_checkpoint(folder / "checkpoints" / "last.ckpt")
    trainer.test(method, data, verbose=False)
    return method.results


def test_couplings_are_the_lattice_law():
    data = IsingSamples(3, 0.17, n=8, sweeps=1)
    energy = CouplingEnergy(9).double()
    energy.raw.data = lattice_couplings(3, 0.17).double()
    x = all_states(9, 2).long()
    law = EnergyNetwork(energy)
    assert torch.allclose(law.log_prob(x), data.target.log_prob(x).double(), atol=1e-5)
    brute = generic_neighbor_log_ratios(law.log_prob, x[:50], 2)
    assert (law.neighbor_log_ratios(x[:50]) - brute).abs().max() < 1e-12


@pytest.mark.parametrize(
    "size, sigma, score", [(10, 0.1, 3.91), (10, 0.5, 2.30), (9, -0.1, 3.81), (9, -0.2, 3.11)]
)
def test_scores_of_no_couplings(size, sigma, score):
    energy = CouplingEnergy(size**2, std=0.0)
    values = CouplingError(size, sigma)(energy)
    assert values["neg_log_rmse"] == values["zero_neg_log_rmse"] == pytest.approx(score, abs=0.005)


def test_samples_follow_the_model():
    data = IsingSamples(3, 0.15, n=4000, sweeps=30)
    truth = enumerate_law(data.target)
    spins, all_spins = 2 * data.states.double() - 1, 2 * truth.states.double() - 1
    found = spins.T @ spins / len(spins)
    exact = (all_spins * truth.probs[:, None]).T @ all_spins
    assert (found - exact).abs().max() < 4.5 / 4000**0.5
    assert spins.mean(0).abs().max() < 4.5 / 4000**0.5
    assert torch.equal(data.batch(3), data.batch(3)) and data.batch(3).shape == (128, 9)


def test_gradient_of_the_contrastive_loss_is_that_of_the_likelihood():
    torch.manual_seed(0)
    energy = CouplingEnergy(4, std=0.3).double()
    data = torch.randint(2, (6, 4), generator=generator())
    states = all_states(4, 2).long()
    likelihood = energy(data).mean() + (-energy(states)).logsumexp(0)
    (exact,) = torch.autograd.grad(likelihood, energy.raw)
    # All states, weighted from the uniform law: exact importance sampling.
    loss = contrastive(energy, data, states, -energy(states).detach())
    (found,) = torch.autograd.grad(loss, energy.raw)
    assert (exact - found).abs().max() < 1e-12 and exact.abs().max() > 0.05


def test_ratio_matching_by_hand():
    torch.manual_seed(0)
    energy = BitEnergy(5, hidden=8).double()
    data = torch.randint(2, (3, 5), generator=generator())
    total = 0.0
    for x in data:
        for i in range(5):
            y = x.clone()
            y[i] = 1 - y[i]
            total += torch.sigmoid(energy(x) - energy(y)) ** 2
    assert torch.allclose(RatioMatching()(energy, data, generator()), total / 3)


def test_ratio_matching_is_least_for_the_law_of_the_data():
    truth = CouplingEnergy(4, std=0.5).double()
    states = all_states(4, 2).long()
    p = (-truth(states)).softmax(0).detach()
    x = states[torch.multinomial(p, 20_000, True, generator=generator())]
    losses = []
    for scale in (0.5, 1.0, 1.7):
        other = CouplingEnergy(4).double()
        other.raw.data = scale * truth.raw.data
        losses.append(float(RatioMatching()(other, x, generator()).detach()))
    assert losses[1] < min(losses[0], losses[2])


def test_energy_discrepancy_by_hand():
    """With epsilon 0 no bit is flipped: every contrast is 0, logsumexp of m + 1 zeros."""
    energy = BitEnergy(5, hidden=8)
    data = torch.randint(2, (3, 5), generator=generator())
    loss = EnergyDiscrepancy(epsilon=0.0, negatives=7)(energy, data, generator())
    assert float(loss.detach()) == pytest.approx(math.log(8), abs=1e-5)


@pytest.mark.parametrize(
    "objective, least",
    [
        (EnergyDiscrepancy(negatives=16), 0.5),
        (RatioMatching(), 0.5),
        (PersistentChains(LocallyBalanced(), steps=10, magnitude=0.0), 0.5),
    ],
)
def test_objectives_learn_couplings(objective, least):
    data = IsingSamples(3, 0.15, n=2000, sweeps=20)
    method = EnergyModel(
        objective, partial(torch.optim.Adam, lr=0.01), energy=partial(CouplingEnergy, l1=0.0),
        length=9, z_samples=64, model_probes=[CouplingError(3, 0.15)],
    )  # fmt: skip
    results = fit(method, data, 150)
    assert results["neg_log_rmse"] > results["zero_neg_log_rmse"] + least


def test_flow_and_couplings_learn_together(tmp_path):
    data = IsingSamples(3, 0.15, n=2000, sweeps=20)
    method = EnergyDNFS(
        partial(CouplingEnergy, l1=0.0), 9, FLOW,
        energy_optimizer=partial(torch.optim.Adam, lr=0.01),
        optimizer=partial(torch.optim.AdamW, lr=2e-3), n_steps=16, chains=64, flow_steps=5,
        z_samples=4096, model_probes=[CouplingError(3, 0.15)],
    )  # fmt: skip
    results = fit(method, data, 6 * 60, tmp_path)
    assert results["neg_log_rmse"] > results["zero_neg_log_rmse"] + 0.5
    law = trained_energy(str(tmp_path), partial(CouplingEnergy, l1=0.0), 9)
    x = all_states(9, 2).long()[:20]
    assert torch.equal(law.log_prob(x), method.law.log_prob(x))
    with pytest.raises(UserError, match="do not fit"):
        trained_energy(str(tmp_path), partial(BitEnergy, hidden=8), 9)


def test_a_resumed_joint_training_is_the_uninterrupted_one(tmp_path):
    def trained(rounds, folder=None, resume=None):
        method = EnergyDNFS(
            CouplingEnergy, 9, FLOW, n_steps=4, chains=8, batch_size=8, flow_steps=2, z_samples=16
        )
        trainer = Trainer(
            max_steps=3 * rounds, max_epochs=-1, accelerator="cpu", logger=False,
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        )  # fmt: skip
        data = IsingSamples(3, 0.15, n=50, sweeps=2)
        trainer.fit(method, data, ckpt_path=resume, weights_only=True if resume else None)
        if folder is not None:
            trainer.save_checkpoint(folder / "last.ckpt")
        return method

    whole = trained(6)
    trained(4, tmp_path)
    resumed = trained(6, resume=tmp_path / "last.ckpt")
    for a, b in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(a, b)


def test_log_z_from_uniform_states():
    energy = CouplingEnergy(6, std=0.2)
    law = EnergyNetwork(energy)
    log_z, ess = uniform_log_z(law, 40_000, generator())
    exact = enumerate_law(law).log_z
    assert abs(log_z - exact) < 4 * math.sqrt((1 / ess - 1) / 40_000)
    assert 0 < ess < 1


def test_density_models_are_judged_beside_their_floors():
    data = DensityData("8gaussians", train_batch_size=16, n_samples=400, batch_size=200)
    method = EnergyDNFS(
        partial(BitEnergy, hidden=8), 32, partial(LeTF, hidden=8, heads=2, layers=1), n_steps=4,
        chains=16, batch_size=16, flow_steps=2, z_samples=2048,
        kernel=SystematicGibbs(), kernel_steps=1, evaluation=DensityEvaluation("8gaussians"),
    )  # fmt: skip
    results = fit(method, data, 3)
    assert results["nll_floor"] < results["nll"] == pytest.approx(32 * math.log(2), abs=0.5)
    assert results["nll@flow"] == results["nll"]
    assert results["elbo_nll"] >= results["nll"] - 0.1
    assert results["mmd@chains"] != results["mmd@flow"]
    assert results["nll_uniform"] == pytest.approx(22.181, abs=1e-3)
    assert method.artifacts["points"].shape == (200, 2)


def test_persistent_chains_are_shared_out_over_devices():
    objective = PersistentChains(LocallyBalanced(), chains=128)
    method = EnergyModel(objective=objective, energy=BitEnergy, length=4)
    method._trainer = SimpleNamespace(world_size=2)
    method.on_fit_start()
    method.on_fit_start()  # of a second training
    assert objective.chains == 64
    method._trainer = SimpleNamespace(world_size=3)
    with pytest.raises(UserError, match=r"objective\.chains=128 cannot be shared by 3 devices"):
        method.on_fit_start()


@pytest.mark.parametrize("objective", [EnergyDiscrepancy(), RatioMatching()])
def test_objectives_of_bits_refuse_other_symbols(objective):
    energy, data = BitEnergy(4, 3), torch.randint(3, (8, 4), generator=generator())
    with pytest.raises(UserError, match="flips bits, and the energy has 3 symbols"):
        objective(energy, data, generator())


def test_more_symbols_than_a_byte_holds_are_refused():
    with pytest.raises(UserError, match="at most 256 symbols, not 300"):
        EnergyModel(RatioMatching(), energy=BitEnergy, length=4, n_states=300)
