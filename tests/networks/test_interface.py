"""What is refused of a network before a sampler trains it."""

from functools import partial

import pytest
import torch
from torch import nn

from jumpbench.errors import UserError
from jumpbench.methods.dnfs.module import DNFS
from jumpbench.methods.unnormalised.leaps import LEAPS
from jumpbench.methods.unnormalised.mdns import MDNS
from jumpbench.networks import LeConv, LeMLP, LeTF, LocallyEquivariantPerceptron
from jumpbench.networks.interface import check_flux, check_scores
from jumpbench.targets import Ising

STATES = torch.randint(4, (8, 16), generator=torch.Generator().manual_seed(0))


class Table(nn.Embedding):
    """Scores of each site's own symbol: of the right shape, and no flux."""

    def __init__(self, length, n_states):
        super().__init__(n_states, n_states)

    def forward(self, x, t=None):
        return super().forward(x)


class Shifted(Table):
    def forward(self, x, t):
        return super().forward(x)[:, 1:]


class Timeless(Table):
    def forward(self, x):
        return super().forward(x)


@pytest.mark.parametrize(
    "network",
    [
        LeTF,
        LeMLP,
        partial(LeConv, kernel_sizes=(3,)),
        LocallyEquivariantPerceptron,
    ],
)
def test_our_networks_are_locally_equivariant(network):
    made = network(length=16, n_states=4)
    before = {name: value.clone() for name, value in made.state_dict().items()}
    random = torch.get_rng_state()
    check_flux(made, STATES, 4)
    check_flux(made.bfloat16().float(), STATES, 4)
    assert torch.equal(torch.get_rng_state(), random) and made.training
    assert all(torch.equal(made.state_dict()[n], v.bfloat16().float()) for n, v in before.items())


def test_a_network_of_another_kind_is_no_flux_even_where_it_starts_at_zero():
    zero = Table(16, 4)
    nn.init.zeros_(zero.weight)
    for network in (Table(16, 4), zero):
        check_scores(network, STATES, 4)
        with pytest.raises(UserError, match="network Table is not locally equivariant"):
            check_flux(network, STATES, 4)


def test_wrong_shapes_and_calls_are_one_line():
    with pytest.raises(UserError, match=r"must take states \(8, 16\) and times \(8,\) to "
                                        r"\(8, 16, 4\), not to \(8, 15, 4\)"):  # fmt: skip
        check_scores(Shifted(16, 4), STATES, 4)
    with pytest.raises(UserError, match=r"network Timeless stops at .*: TypeError: .*positional"):
        check_scores(Timeless(16, 4), STATES, 4)
    check_scores(Timeless(16, 4), STATES, 4, timed=False)


@pytest.mark.parametrize(("method", "network", "words"), [
    (DNFS, Table, "locally equivariant"), (LEAPS, Table, "locally equivariant"),
    (MDNS, lambda length, n_states, n_inputs: Table(length, n_states), "stops at .*IndexError"),
])  # fmt: skip
def test_samplers_refuse_them_before_training(method, network, words):
    target = Ising(size=4, beta=0.3)
    sampler = method(target=target, network=network, optimizer=torch.optim.Adam)
    with pytest.raises(UserError, match=words):
        sampler.on_fit_start()
