"""Networks that take weights over symbols: one-hot weights are the symbols, and have a gradient."""

import pytest
import torch
from torch.nn import functional as F

from jumpbench.networks.denoising_scores import DenoisingScores
from jumpbench.networks.score_transformer import ScoreTransformer
from jumpbench.networks.sequence_convolution import SequenceConvolution
from jumpbench.networks.sequence_regressor import SequenceRegressor
from jumpbench.processes.masked import MaskedProcess
from jumpbench.processes.uniform import UniformProcess


def convolution(process):
    return DenoisingScores(SequenceConvolution(process.n_states, 8, 2), process)


NETWORKS = {
    "convolution": (5, lambda: convolution(MaskedProcess(4))),
    "uniform convolution": (4, lambda: convolution(UniformProcess(4))),
    "transformer": (4, lambda: ScoreTransformer(4, 16, 1, 2, 16)),
    "regressor": (4, lambda: SequenceRegressor(3, channels=8)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_one_hot_weights_are_their_symbols(name):
    n_states, built = NETWORKS[name]
    torch.manual_seed(0)
    network = built()
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in network.parameters():  # some start at 0
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    network.eval()
    x = torch.randint(n_states, (3, 12), generator=generator)
    weights = F.one_hot(x, n_states).float().requires_grad_()
    more = () if name == "regressor" else (torch.tensor([0.1, 1.0, 4.0]),)
    torch.testing.assert_close(network(weights, *more), network(x, *more))
    # The gradient against a finite difference along one direction.
    direction = torch.randn(weights.shape, generator=generator)
    projection = torch.randn(network(x, *more).shape, generator=generator, dtype=torch.float64)
    network.double()
    weights = weights.detach().double().requires_grad_()
    more = tuple(part.double() for part in more)
    (gradient,) = torch.autograd.grad((network(weights, *more) * projection).sum(), weights)
    h = 1e-5
    ahead, behind = (
        (network(weights.detach() + sign * h * direction, *more) * projection).sum().detach()
        for sign in (1, -1)
    )
    slope = float((gradient * direction).sum())
    assert float((ahead - behind) / (2 * h)) == pytest.approx(slope, rel=1e-4, abs=1e-6)
