"""Local equivariance, hollowness and reach of the networks of DNFS, by brute force."""

import pytest
import torch

from jumpbench.networks.leattn import LeAttn
from jumpbench.networks.leconv import LeConv
from jumpbench.networks.legf import LeGF
from jumpbench.networks.lemlp import LeMLP
from jumpbench.networks.letf import LeTF
from jumpbench.targets.graphs import Graphs
from oracles import neighbours

NETWORKS = {
    "leTF": (lambda: LeTF(6, 2, hidden=16, layers=2), 6, 2),
    "leTF, three symbols": (lambda: LeTF(4, 3, hidden=16, layers=2), 4, 3),
    "leMLP": (lambda: LeMLP(6, 3, hidden=16), 6, 3),
    "leAttn": (lambda: LeAttn(6, 3, hidden=16), 6, 3),
    "leConv on 7 of 9 sites": (lambda: LeConv(7, 2, channels=4, kernel_sizes=(3, 3)), 7, 2),
    "leGF": (lambda: on_a_graph(), 5, 2),
}
EDGES = [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)]


def on_a_graph(length=5):
    """leGF on one graph for all states, its distance bias not zero."""
    network = LeGF(length, hidden=16, layers=2)
    torch.nn.init.normal_(network.distance_bias)
    graph = Graphs.of([(5, EDGES)], length)

    class Bound(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self, x, t):
            return self.network(x, t, graph.rows(torch.zeros(len(x), dtype=torch.long)))

    return Bound()


def made(name, dtype):
    torch.manual_seed(0)
    make, length, n_states = NETWORKS[name]
    return make().to(dtype), length, n_states


@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("name", NETWORKS)
def test_local_equivariance(name, dtype, tolerance):
    network, length, n_states = made(name, dtype)
    generator = torch.Generator().manual_seed(1)
    for _ in range(3):
        x = torch.randint(n_states, (length,), generator=generator)
        t = torch.rand(1, generator=generator, dtype=dtype)
        flux = network(x[None], t)[0]
        y = neighbours(x, n_states).flatten(0, 1)
        back = network(y, t.expand(len(y))).view(length, n_states, length, n_states)
        sites = torch.arange(length)
        assert flux.abs().max() > 1e-3, "a network that is zero everywhere proves nothing"
        assert (flux + back[sites, :, sites, x]).abs().max() <= tolerance
        assert (flux[sites, x] == 0).all()


@pytest.mark.parametrize("name", NETWORKS)
def test_features_see_every_other_site_and_not_their_own(name):
    network, length, n_states = made(name, torch.float64)
    hollow = []
    readout = next(m for m in network.modules() if type(m).__name__.endswith("Readout"))
    readout.register_forward_hook(lambda module, args, out: hollow.append(args[-1][:, :length]))
    x = torch.randint(n_states, (length,), generator=torch.Generator().manual_seed(2))
    for j in range(length):
        other = x.clone()
        other[j] = (x[j] + 1) % n_states
        hollow.clear()
        network(torch.stack((x, other)), torch.tensor([0.3, 0.3], dtype=torch.float64))
        change = (hollow[0][0] - hollow[0][1]).abs().amax(-1)
        assert change[j] < 1e-14  # rows of a batch are not rounded alike
        seen = change > 1e-9
        if name.startswith("leConv"):  # 3 x 3 kernels on a 3 x 3 torus see all sites
            assert seen.sum() == length - 1
        assert seen[torch.arange(length) != j].all()


@pytest.mark.parametrize(
    "length, hidden, layers, millions",
    [(32, 128, 3, 1.56), (100, 128, 3, 1.62), (25, 64, 3, 0.41), (75, 256, 5, 9.7)],
)
def test_size_of_letf(length, hidden, layers, millions):
    network = LeTF(length, 2, hidden=hidden, layers=layers)
    count = sum(p.numel() for p in network.parameters()) / 1e6
    assert round(count, 2 if millions < 9 else 1) == pytest.approx(millions, abs=0.0051)


def test_reference_size_of_letf():
    sizes = {(9, 32, 2): 78_632, (25, 64, 3): 406_352}
    for (length, hidden, layers), count in sizes.items():
        network = LeTF(length, 2, hidden=hidden, layers=layers)
        assert sum(p.numel() for p in network.parameters()) == count


def test_padding_does_not_reach_real_nodes():
    graphs = [(5, EDGES), (4, [(0, 1), (2, 3)])]
    x = torch.tensor([[1, 0, 1, 1, 0], [0, 1, 1, 0, 0]])
    t = torch.tensor([0.2, 0.7])
    torch.manual_seed(0)
    network = LeGF(9, hidden=16, layers=2)
    torch.nn.init.normal_(network.distance_bias)
    narrow = network(x, t, Graphs.of(graphs, 5))
    wide_x = torch.nn.functional.pad(x, (0, 4))
    wide = network(wide_x, t, Graphs.of(graphs, 9))
    assert (wide[:, :5] - narrow).abs().max() < 1e-5
    assert (wide[:, 5:] == 0).all() and (narrow[1, 4] == 0).all()
    wide_x[:, 5:] = 1
    assert torch.equal(network(wide_x, t, Graphs.of(graphs, 9)), wide)


def test_the_distance_bias_matters():
    torch.manual_seed(0)
    network = LeGF(5, hidden=16, layers=2)
    graph = Graphs.of([(5, EDGES)])
    x, t = torch.tensor([[1, 0, 1, 1, 0]]), torch.tensor([0.2])
    before = network(x, t, graph)
    network.distance_bias.data[1] += 1
    assert (network(x, t, graph) - before).abs().max() > 1e-3


def test_both_streams_in_one_pass_are_two_separate_streams():
    """The pass over paired parameters equals a plain loop over both streams."""
    torch.manual_seed(3)
    network = LeTF(6, 2, hidden=16, layers=2).double()
    x = torch.randint(2, (3, 6))
    t = torch.rand(3, dtype=torch.float64)
    clock = network.time(t)[:, None]
    outputs = []
    for stream, tokens in enumerate((network.tokens(x), network.tokens(x.flip(1)))):
        u = torch.cat((clock, tokens), 1)
        for block in network.blocks:
            u = u + plain_block(block, stream, u)
        outputs.append(u[:, :-1])
    captured = []
    network.attention.register_forward_hook(lambda m, args, out: captured.append(args[0]))
    network(x, t)
    assert torch.allclose(captured[0][0], outputs[0], atol=1e-12)
    assert torch.allclose(captured[0][1], outputs[1].flip(1), atol=1e-12)


def plain_block(block, s, u):
    def linear(layer, v):
        return v @ layer.weight[s] + layer.bias[s]

    def norm(layer, v):
        v = (v - v.mean(-1, keepdim=True)) / (v.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
        return v * layer.weight[s, 0] + layer.bias[s, 0]

    v = linear(block.enter, u) + block.positions[s]
    q, k, w = linear(block.attention.query_key_value, norm(block.attention_norm, v)).chunk(3, -1)
    heads, out = block.attention.heads, []
    future = torch.ones(u.shape[1], u.shape[1]).triu(1).bool()
    for q_h, k_h, w_h in zip(*(part.chunk(heads, -1) for part in (q, k, w)), strict=True):
        logits = q_h @ k_h.mT / q_h.shape[-1] ** 0.5
        out.append(logits.masked_fill(future, -torch.inf).softmax(-1) @ w_h)
    v = v + linear(block.attention.out, torch.cat(out, -1))
    hidden = torch.nn.functional.gelu(linear(block.up, norm(block.perceptron_norm, v)))
    return v + linear(block.down, hidden)


@pytest.mark.parametrize("site", range(7))
def test_a_site_can_tell_the_states_of_its_neighbours(site):
    """Without mixing in the streams and with all attention at distance 1, a site depends on its
    neighbours, on the two sites that its own features carry, and on nothing else."""
    edges = [(0, 3), (0, 6), (1, 4), (2, 5), (2, 6), (1, 5)]
    torch.manual_seed(0)
    network = LeGF(7, hidden=16, layers=1).double()
    for name in ("attention.out.weight", "down.weight"):
        torch.nn.init.zeros_(network.blocks[0].get_parameter(name))
    network.distance_bias.data[1] = 60.0
    x = torch.randint(2, (1, 7)).repeat(8, 1)
    x[torch.arange(7), torch.arange(7)] ^= 1  # row j: site j changed; the last row: none
    flux = network(x, torch.full((8,), 0.3).double(), Graphs.of([(7, edges)]))[:, site]
    rate = flux.abs().sum(-1)  # of the one change that there is, whatever the site's own symbol
    changed = ((rate[:7] - rate[7]).abs() > 1e-9).nonzero().flatten().tolist()
    near = {a if b == site else b for a, b in edges if site in (a, b)}
    assert set(changed) == (near | {site - 1, site + 1}) & set(range(7))
