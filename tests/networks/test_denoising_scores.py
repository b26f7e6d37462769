"""Log-scores from clean laws, against ratios of noised laws that are enumerated."""

from itertools import product

import pytest
import torch

from jumpbench.networks.denoising_scores import DenoisingScores
from jumpbench.processes.masked import MaskedProcess
from jumpbench.processes.uniform import UniformProcess

LAW = torch.tensor([6.0, 1, 1, 1, 5, 1, 1, 1, 3]).view(3, 3) / 20


@pytest.mark.parametrize("process", [UniformProcess(3), MaskedProcess(3)])
@pytest.mark.parametrize("noise", [1e-3, 0.4, 3.0])
def test_the_law_given_the_other_site_gives_the_exact_score(process, noise):
    """Two dependent sites: w is p(x_0 at i | noised other site), by enumeration."""
    n = process.n_states
    matrix = process.kernel(torch.tensor(noise, dtype=torch.float64))
    law = torch.zeros(n, n, dtype=torch.float64)
    law[:3, :3] = LAW.double()
    marginal = matrix.T @ law @ matrix

    def network(x, noise):
        first = (law @ matrix)[:, x[:, 1]].T  # x_0 at site 0, noised site 1
        second = (matrix.T @ law)[x[:, 0]]
        return torch.stack([first, second], 1).clamp(min=1e-300).log().float()

    x = torch.tensor([s for s in product(range(n), repeat=2) if marginal[s] > 0])
    scores = DenoisingScores(network, process)(x, torch.full((len(x),), noise))
    weight = process.reverse_rates(x, torch.ones_like(scores), torch.tensor(1.0))
    for state, score, used in zip(x.tolist(), scores.double().exp(), weight, strict=True):
        here = marginal[state[0], state[1]]
        expected = torch.stack([marginal[:, state[1]] / here, marginal[state[0]] / here])
        used = used > 0
        torch.testing.assert_close(score[used], expected[used], rtol=2e-4, atol=1e-7)


def test_it_starts_exact_for_uniform_symbols():
    x = torch.randint(3, (4, 5))
    scores = DenoisingScores(lambda x, noise: torch.zeros(4, 5, 3), UniformProcess(3))
    assert scores(x, torch.tensor([1e-4, 0.1, 1.0, 20.0])).abs().max() < 1e-6
