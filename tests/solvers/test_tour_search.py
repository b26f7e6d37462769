"""2-opt and or-opt: never longer, locally optimal by an independent plain check."""

import itertools

import pytest
import torch

from jumpbench.solvers.tour_search import local_search, multi_start, random_tours
from jumpbench.solvers.tours import tour_length


def plain_neighbours(tour, or_opt):
    n = len(tour)
    for i, j in itertools.combinations(range(n + 1), 2):
        yield tour[:i] + tour[i:j][::-1] + tour[j:]
    if or_opt:
        for length, a in itertools.product((1, 2, 3), range(n)):
            turned = tour[a:] + tour[:a]
            stretch, rest = turned[:length], turned[length:]
            for b in range(len(rest)):
                yield rest[:b] + stretch + rest[b:]
                yield rest[:b] + stretch[::-1] + rest[b:]


@pytest.mark.parametrize("or_opt", [False, True])
@pytest.mark.parametrize("n", [4, 5, 9])
def test_result_is_a_local_optimum_and_never_longer(n, or_opt):
    generator = torch.Generator().manual_seed(n)
    coords = torch.rand(12, n, 2, generator=generator)
    starts = random_tours((12,), n, generator)
    tours = local_search(coords, starts, or_opt)
    assert (tours.sort(dim=1).values == torch.arange(n)).all()
    before, after = tour_length(coords, starts), tour_length(coords, tours)
    assert (after <= before + 1e-12).all()
    for instance, tour, length in zip(coords, tours.tolist(), after, strict=True):
        neighbours = torch.tensor(list(plain_neighbours(tour, or_opt)))
        assert tour_length(instance, neighbours).min() >= length - 1e-8


def test_or_opt_improves_on_two_opt_alone():
    generator = torch.Generator().manual_seed(0)
    coords = torch.rand(30, 20, 2, generator=generator)
    starts = random_tours((30,), 20, generator)
    plain = local_search(coords, starts)
    both = tour_length(coords, local_search(coords, plain, or_opt=True))
    assert (both <= tour_length(coords, plain) + 1e-12).all()
    assert (both < tour_length(coords, plain) - 1e-6).any()


def test_multi_start_keeps_the_shortest():
    coords = torch.rand(10, 15, 2, generator=torch.Generator().manual_seed(3))
    result = multi_start(coords, 5, torch.Generator().manual_seed(1))
    torch.testing.assert_close(tour_length(coords, result.best), result.lengths.min(1).values)
    torch.testing.assert_close(tour_length(coords[:, None], result.tours), result.lengths)
    again = multi_start(coords, 5, torch.Generator().manual_seed(1))
    assert torch.equal(result.best, again.best)


def test_random_tours_are_uniform():
    tours = random_tours((12000,), 3, torch.Generator().manual_seed(0))
    codes = (tours * torch.tensor([9, 3, 1])).sum(1)
    counts = torch.unique(codes, return_counts=True)[1].double()
    assert len(counts) == 6
    # chi-square with 5 degrees of freedom exceeds 20.5 with probability 1e-3
    assert ((counts - 2000) ** 2 / 2000).sum() < 20.5
