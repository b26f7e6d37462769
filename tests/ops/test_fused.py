"""Hand-written gradients against the plain formulas, and where the networks take them."""

import pytest
import torch

from jumpbench.networks import lattice_transformer
from jumpbench.networks.lattice_transformer import LatticeController, LatticeCorrector, MixedRotary
from jumpbench.ops.fused import gated_sum, modulated_norm, pays, rotated_heads

HEADS, LENGTH, HIDDEN = 2, 3, 8


def draw(*shape, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, generator=generator, dtype=dtype).requires_grad_()


def plain_heads(qkv, angles):
    q, k, v = qkv.unflatten(-1, (3, len(angles), -1)).permute(2, 0, 3, 1, 4)
    cos, sin = angles.cos(), angles.sin()
    return MixedRotary.turn(q, cos, sin), MixedRotary.turn(k, cos, sin), v


def plain_gated(z, gate, branch):
    return z + gate * branch


def fused_norm(z, scale, shift):
    return modulated_norm(z, scale, shift, 1e-3)


def plain_norm(z, scale, shift):
    return torch.nn.functional.layer_norm(z, z.shape[-1:], eps=1e-3) * scale + shift


CASES = {
    "norm": (fused_norm, plain_norm, [(4, LENGTH, 5), (4, 1, 5), (4, 1, 5)]),
    "heads": (
        rotated_heads,
        plain_heads,
        [(4, LENGTH, 3 * HIDDEN), (HEADS, LENGTH, HIDDEN // HEADS // 2)],
    ),
    "gate of a state": (gated_sum, plain_gated, [(4, LENGTH, 5), (4, 1, 5), (4, LENGTH, 5)]),
    "gate of all": (gated_sum, plain_gated, [(4, LENGTH, 5), (5,), (4, LENGTH, 5)]),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_finite_differences(case):
    function, _, shapes = CASES[case]
    inputs = [draw(*shape, seed=i) for i, shape in enumerate(shapes)]
    assert torch.autograd.gradcheck(function, inputs)


@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients_are_those_of_the_plain_formula(case):
    function, plain, shapes = CASES[case]
    inputs = [draw(*shape, dtype=torch.float32, seed=i) for i, shape in enumerate(shapes)]
    results = []
    for f in (function, plain):
        outputs = f(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        loss = sum((i + output).sin().sum() for i, output in enumerate(outputs))
        results.append((*outputs, *torch.autograd.grad(loss, inputs)))
    for ours, expected in zip(*results, strict=True):
        assert ours.dtype == torch.float32
        torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-5)


def networks():
    torch.manual_seed(0)
    pair = [LatticeController(9, 3, blocks=2), LatticeCorrector(9, 3, blocks=2)]
    for network in pair:
        for name, parameter in network.named_parameters():
            if "norm" in name or "scale" in name:
                torch.nn.init.normal_(parameter)
    return pair


def value_and_slopes(network, call, x, t):
    network.zero_grad()
    output = call(x, t) if isinstance(network, LatticeController) else call(x)
    output.sin().sum().backward()
    return [output.detach(), *(parameter.grad for parameter in network.parameters())]


def assert_same(ours, other):
    for a, b in zip(ours, other, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("which", [0, 1])
def test_networks_are_the_same_with_and_without(which, monkeypatch):
    network = networks()[which]
    x, t = torch.randint(3, (5, 9)), torch.rand(5)
    ours = value_and_slopes(network, network, x, t)
    monkeypatch.setattr(lattice_transformer, "pays", lambda z: False)
    assert_same(ours, value_and_slopes(network, network, x, t))


@pytest.mark.parametrize("which", [0, 1])
def test_networks_are_the_same_when_compiled(which):
    network = networks()[which]
    x, t = torch.randint(3, (5, 9)), torch.rand(5)
    ours = value_and_slopes(network, network, x, t)
    compiled = torch.compile(network, backend="aot_eager", fullgraph=True)
    assert_same(ours, value_and_slopes(network, compiled, x, t))


def test_a_double_network_has_double_gradients():
    controller = networks()[0].double()
    x, t = torch.randint(3, (5, 9)), torch.rand(5, dtype=torch.float64)
    assert controller(x, t).dtype == torch.float32
    controller(x, t).sum().backward()
    assert all(p.grad.dtype == torch.float64 for p in controller.parameters())


def test_bfloat16_and_compilers_take_the_plain_formulas():
    z = torch.zeros(2)
    assert pays(z)
    assert not pays(z.bfloat16())
    assert not pays(z.to("meta"))
    with torch.autocast("cpu", torch.bfloat16):
        assert not pays(z)
    assert not torch.compile(lambda z: z + float(pays(z)), backend="eager")(z).any()
