"""Judging of unnormalised laws: lattices, a user's own target, weights, exact values."""

import math

import pytest
import torch
from torch import nn

from jumpbench.errors import UserError
from jumpbench.evaluations.lattice import TargetEvaluation
from jumpbench.metrics.lattice import lattice_metrics
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws
from jumpbench.targets.base import Target
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.ising import Ising
from jumpbench.targets.kaufman import ising_torus
from jumpbench.targets.potts import Potts


class Ring(Target):
    """A user's own target: five three-valued sites on a ring, with one favoured symbol."""

    def __init__(self):
        super().__init__(5, 3)

    def log_prob(self, x):
        return 1.2 * (x == x.roll(1, -1)).float().sum(-1) + 0.5 * (x[..., 0] == 2)


def drawn(target, n, seed=0, tilt=0.0):
    """Exact samples of the law with weights exp(tilt * log_prob) on top."""
    law = enumerate_law(target)
    probs = law.probs * (tilt * target.log_prob(law.states.long())).exp()
    rows = torch.multinomial(probs, n, True, generator=torch.Generator().manual_seed(seed))
    return law.states[rows].long()


def judge(evaluation, *batches):
    evaluation.reset()
    for batch in batches:
        evaluation.update(batch if isinstance(batch, Draws) else Draws(batch), {})
    return evaluation.results()


def test_a_lattice_is_judged_by_the_lattice_metrics_whatever_the_batches():
    target = Potts(3, 3, 0.9)
    samples, truth = drawn(target, 600, 1), drawn(target, 500, 2)
    evaluation = TargetEvaluation(target, truth)
    found = judge(evaluation, samples[:100], samples[100:])
    assert found == judge(evaluation, samples)  # and what came before is forgotten
    assert found == lattice_metrics(target, samples, truth)


def test_a_users_target_is_judged_against_its_own_samples():
    target = Ring()
    truth = drawn(target, 4000, 1)
    good = judge(TargetEvaluation(target, truth), drawn(target, 4000, 2))
    bad = judge(TargetEvaluation(target, truth), drawn(target, 4000, 3, tilt=-0.5))
    wrong_site = judge(TargetEvaluation(target, truth), drawn(target, 4000, 2).roll(1, 1))
    names = {"energy_w2", "energy_error", "marginal_error"}
    assert set(good) == names | {f"{name}_floor" for name in names}
    for name in names:
        assert good[name] < 4 * good[f"{name}_floor"]
    assert bad["energy_w2"] > 4 * bad["energy_w2_floor"]
    law, tilted = enumerate_law(target), enumerate_law(target)
    probs = tilted.probs * (-0.5 * target.log_prob(tilted.states.long())).exp()
    energy = target.energy(law.states.long())
    shift = float((probs / probs.sum() - law.probs) @ energy.double())
    error = law.std(energy) * math.sqrt(2 / 4000)
    assert abs(bad["energy_error"] - shift) < 4 * error
    # Which site has the favoured symbol, only the marginals see.
    assert wrong_site["marginal_error"] > 2 * wrong_site["marginal_error_floor"]


def test_true_samples_may_lie_in_the_folder_of_a_run(tmp_path):
    target = Ring()
    truth = drawn(target, 100)
    torch.save({"samples": truth.to(torch.uint8)}, tmp_path / "samples.pt")
    samples = drawn(target, 50, 1)
    assert judge(TargetEvaluation(target, str(tmp_path)), samples) == judge(
        TargetEvaluation(target, truth), samples
    )
    with pytest.raises(UserError, match="is missing: the run that makes it"):
        judge(TargetEvaluation(target, str(tmp_path / "nowhere")), samples)


def test_weights_and_extras():
    """log Z from weights N^D nu(x) of uniform states (4 standard errors); ESS by its formula."""
    target = Ring()
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(3, (20_000, 5), generator=generator)
    weights = target.log_prob(x) + 5 * math.log(3)
    draws = Draws(x, weights, Cost(2.0), {"jumps": x[:, 0].double(), "table": x.float()})
    found = judge(TargetEvaluation(target), draws)
    w = weights.double().exp()
    assert found["ess"] == pytest.approx(float(w.mean() ** 2 / w.square().mean()), rel=1e-9)
    assert abs(found["log_z"] - enumerate_law(target).log_z) < 4 * found["log_z_error"]
    assert found["jumps"] == pytest.approx(float(x[:, 0].double().mean()), rel=1e-12)
    assert set(found) == {"ess", "log_z", "log_z_error", "jumps"}


def test_kaufmans_energy_stands_beside_a_ground_truth():
    target = Ising(3, 0.4)
    found = judge(TargetEvaluation(target), samples := drawn(target, 3000))
    exact = ising_torus(3, 0.4)
    mean = float(target.energy(samples).double().mean())
    assert found["exact_energy_error"] == pytest.approx(abs(mean - exact.mean_energy) / 9)
    # E|z| = sqrt(2/pi) of the standard error.
    assert found["exact_energy_error_floor"] == pytest.approx(
        exact.std_energy * math.sqrt(2 / math.pi / 3000) / 9
    )
    assert found["exact_energy_error"] < 4 * found["exact_energy_error_floor"]
    with torch.inference_mode():  # as in the test stage
        assert judge(TargetEvaluation(target), samples) == found
    assert judge(TargetEvaluation(Ising(3, 0.4, field=0.1)), samples) == {}


def test_a_sampler_of_one_mode_of_two_is_short_of_log_z_by_log_two():
    """Of weights nu(x) / q(x) with q the target given its positive mode (odd D: no ties)."""
    target = Ising(3, 0.4407)
    law = enumerate_law(target)
    positive = (law.states.long().sum(-1) > 4).double()
    for one_mode, expected in ((law.probs, 0.0), (law.probs * positive * 2, -math.log(2))):
        chosen = one_mode.multinomial(500, True, generator=torch.Generator().manual_seed(1))
        x = law.states[chosen].long()
        weights = target.log_prob(x).double() - one_mode[chosen].log()
        values = judge(TargetEvaluation(target), Draws(x, weights, Cost(1.0)))
        assert values["log_z_minus_exact"] == pytest.approx(expected, abs=1e-5)
    assert "log_z_minus_exact" not in judge(TargetEvaluation(target), x)


def test_the_enumerated_law_of_energies():
    target = Potts(3, 2, 0.7)
    law = enumerate_law(target)
    evaluation = TargetEvaluation(target, exact_energies=True)
    found = judge(evaluation, samples := drawn(target, 5000))
    energy, mine = target.energy(law.states), target.energy(samples)
    tv = sum(
        abs(float(law.probs[energy == e].sum()) - float((mine == e).double().mean())) / 2
        for e in energy.unique()
    )
    assert found["energy_tv"] == pytest.approx(tv, abs=1e-12)
    assert found["energy_per_site"] == pytest.approx(float(mine.double().mean()) / 9)
    perfect = [
        judge(TargetEvaluation(target, exact_energies=True), drawn(target, 5000, seed))["energy_tv"]
        for seed in range(1, 41)
    ]
    error = torch.tensor(perfect).std() / 40**0.5
    assert abs(found["energy_tv_floor"] - sum(perfect) / 40) < 4 * error + 0.02 * found[
        "energy_tv_floor"]  # its binomials are taken as normal  # fmt: skip


def test_an_energy_network_gets_no_gradient():
    class Energy(Target, nn.Module):
        def __init__(self):
            nn.Module.__init__(self)
            Target.__init__(self, 3, 2)
            self.layer = nn.Linear(3, 1)

        def log_prob(self, x):
            return self.layer(x.float()).squeeze(-1)

    target = Energy()
    with torch.no_grad():
        truth, samples = drawn(target, 100), drawn(target, 100, 1)
    found = judge(TargetEvaluation(target, truth, exact_energies=True), samples)
    assert found["energy_w2"] >= 0 and 0 <= found["energy_tv"] <= 1
    assert all(p.grad is None for p in target.parameters())


def test_states_that_are_not_the_targets_are_refused():
    with pytest.raises(UserError, match=r"0\.\.2"):
        judge(TargetEvaluation(Ring(), drawn(Ring(), 10)), torch.full((4, 5), 3))
