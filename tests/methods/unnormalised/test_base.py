"""A target that is a network is sampled and never trained, by every method."""

import copy
from functools import partial

import pytest
import torch
from lightning import Trainer
from torch import nn

from jumpbench.data.numbers import Numbers
from jumpbench.errors import UserError
from jumpbench.methods.dasbs.matcher import Matcher
from jumpbench.methods.dasbs.matching import DenoisingMatching
from jumpbench.methods.dasbs.module import DASBS
from jumpbench.methods.unnormalised.leaps import LEAPS
from jumpbench.methods.unnormalised.mdns import MDNS
from jumpbench.networks.free_energy import FreeEnergy
from jumpbench.networks.locally_equivariant import LocallyEquivariantPerceptron
from jumpbench.networks.state_perceptron import StatePerceptron
from jumpbench.processes.schedules import ModifiedLogLinear
from jumpbench.targets.base import Target
from jumpbench.targets.enumeration import enumerate_law


class Energy(Target, nn.Module):
    """A user's energy network over 3^5 states, with normalisation statistics as buffers."""

    def __init__(self):
        nn.Module.__init__(self)
        Target.__init__(self, 5, 3)
        self.layers = nn.Sequential(nn.Linear(15, 16), nn.Tanh(), nn.Linear(16, 1))
        self.register_buffer("scale", torch.tensor(3.0))

    def log_prob(self, x):
        one_hot = nn.functional.one_hot(x.long(), 3).to(self.scale.dtype)
        return self.scale * self.layers(one_hot.flatten(-2)).squeeze(-1)


PERCEPTRON = partial(StatePerceptron, hidden=16)
ADAM = partial(torch.optim.Adam, lr=5e-3)
MATCHER = partial(
    Matcher, optimizer=ADAM, pairs=16, times=2, buffer_size=32, refresh_every=5, steps=10
)
METHODS = {
    "DASBS": partial(
        DASBS, schedule=ModifiedLogLinear(), n_steps=10,
        controller=partial(MATCHER, network=PERCEPTRON),
        corrector=partial(MATCHER, network=partial(PERCEPTRON, harmonics=None)),
    ),
    "UDNS": partial(
        DASBS, schedule=ModifiedLogLinear(alpha=0.0), start=0.01, n_steps=10,
        controller=partial(
            MATCHER, network=PERCEPTRON, matching=DenoisingMatching(), reweight=True
        ),
    ),
    "LEAPS": partial(
        LEAPS, optimizer=ADAM, network=partial(LocallyEquivariantPerceptron, hidden=8), n_steps=4,
        n_chains=16, free_energy=partial(FreeEnergy, hidden=8, depth=1), batch_size=16,
        stored_rollouts=2, refresh_every=5, horizon_steps=10, n_metropolis=1,
    ),
    "MDNS": partial(
        MDNS, optimizer=ADAM, network=partial(PERCEPTRON, harmonics=None), batch_size=16
    ),
}  # fmt: skip


def fitted(name, target, steps=30):
    method = METHODS[name](target=target)
    before = {name: weight.detach().clone() for name, weight in method.named_parameters()}
    trainer = Trainer(
        max_steps=steps, max_epochs=-1, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(method, Numbers())
    return method, before


@pytest.mark.parametrize("name", METHODS)
def test_a_module_target_stays_as_it_is_to_the_last_bit(name):
    torch.manual_seed(0)
    target = Energy()
    before, law = copy.deepcopy(target.state_dict()), enumerate_law(target).probs
    method, start = fitted(name, target)
    for key, value in target.state_dict().items():
        assert torch.equal(value, before[key]), key
    assert torch.equal(enumerate_law(target).probs, law)
    # No gradient reached it, it can still be trained by its owner, and no checkpoint holds it.
    assert all(p.grad is None and p.requires_grad for p in target.parameters())
    assert not any("target" in key for key in method.state_dict())
    assert not {id(p) for p in target.parameters()} & {id(p) for p in method.parameters()}
    # The method's own networks did move.
    after = dict(method.named_parameters())
    assert any(not torch.equal(weight, after[name]) for name, weight in start.items())


def test_a_module_target_moves_along_with_its_sampler():
    target = Energy()
    METHODS["MDNS"](target=target).double()
    assert target.scale.dtype == torch.float64
    assert target.layers[0].weight.dtype == torch.float64


def test_a_run_goes_on_on_the_kind_of_device_that_it_was_begun_on():
    """A GPU's generator has a state of 16 bytes, which the first run on one showed."""
    method = METHODS["LEAPS"](target=Energy())
    method.generator("paths")
    state = method.own_state()
    state["generators"] = {k: torch.zeros(16, dtype=torch.uint8) for k in state["generators"]}
    method.restore_own(state)
    with pytest.raises(UserError, match=r"begun on a gpu.*trainer\.accelerator=gpu"):
        method.generator("paths")
