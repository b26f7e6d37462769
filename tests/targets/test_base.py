import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.metrics.states import energies
from jumpbench.targets.base import (
    DiscreteTarget,
    Target,
    check_states,
    check_target,
    generic_neighbor_log_ratios,
    random_states,
)
from jumpbench.targets.tabular import Tabular
from oracles import generator


def random_tabular(length=3, n_states=4):
    return Tabular(torch.randn((n_states,) * length, generator=generator(), dtype=torch.float64))


class Product(Target):
    def log_prob(self, x):
        return (0.3 * x).sum(-1)


def test_ratios_of_a_table_are_the_differences_written_out():
    target = random_tabular()
    x = random_states(target, (5, 2), generator(1))
    ratios = target.neighbor_log_ratios(x)
    assert ratios.shape == (5, 2, 3, 4)
    for d in range(3):
        for n in range(4):
            changed = x.clone()
            changed[..., d] = n
            expected = target.log_prob(changed) - target.log_prob(x)
            torch.testing.assert_close(ratios[..., d, n], expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("chunk", [1, 7, 10_000])
@pytest.mark.parametrize("dtype", [torch.long, torch.uint8, torch.int32])
def test_generic_ratios_do_not_depend_on_the_chunk(chunk, dtype):
    target = random_tabular()
    x = random_states(target, (6,), generator(1)).to(dtype)
    ratios = generic_neighbor_log_ratios(target.log_prob, x, 4, chunk)
    torch.testing.assert_close(ratios, target.neighbor_log_ratios(x), rtol=0, atol=1e-14)
    assert (ratios.gather(-1, x.long().unsqueeze(-1)) == 0).all()


def test_a_user_writes_only_log_prob():
    target = Product(length=5, n_states=3)
    x = random_states(target, (4,), generator())
    assert isinstance(target, DiscreteTarget)
    check_target(target, x)
    torch.testing.assert_close(
        target.neighbor_log_ratios(x), 0.3 * (torch.arange(3) - x.unsqueeze(-1)).float()
    )
    torch.testing.assert_close(target.energy(x), -target.log_prob(x))


def test_excluded_neighbours_are_legal_and_excluded_states_are_not():
    table = torch.zeros(3, 3)
    table[0, 0] = -torch.inf
    target = Tabular(table)
    check_target(target, torch.tensor([[0, 1]]))
    assert target.neighbor_log_ratios(torch.tensor([0, 1]))[1, 0] == -torch.inf
    with pytest.raises(UserError, match=r"-inf at 1 of 1 states to start from"):
        check_target(target, torch.tensor([[0, 0]]))


def test_non_finite_energies_are_named():
    class Overflowing(Target):
        def log_prob(self, x):
            return torch.exp(1000.0 * x.float()).sum(-1)

    target = Overflowing(2, 2)
    with pytest.raises(UserError, match=r"log_prob is inf at 3 of 3 states: it must be finite"):
        check_target(target, torch.ones(3, 2, dtype=torch.long))
    with pytest.raises(UserError, match="NaN or \\+inf at"):
        check_target(target, torch.zeros(3, 2, dtype=torch.long))


def test_whole_numbers_are_named():
    class Counted(Target):
        def log_prob(self, x):
            return (x == 0).sum(-1)

    with pytest.raises(UserError, match=r"Counted.log_prob is torch.int64: let it end with"):
        check_target(Counted(2, 2), torch.zeros(3, 2, dtype=torch.long))


def test_wrong_shapes_are_named():
    class Summed(Target):
        def log_prob(self, x):
            return x.float()

    with pytest.raises(UserError, match="must map"):
        check_target(Summed(2, 2), torch.zeros(3, 2, dtype=torch.long))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(2, 5), "integer tensor"),
        (torch.zeros(2, 4, dtype=torch.long), "shape"),
        (torch.full((2, 5), 3), "found 3..3"),
        (torch.full((2, 5), -1), "found -1"),
    ],
)
def test_bad_states_are_refused(x, message):
    with pytest.raises(UserError, match=message):
        check_states(Product(5, 3), x)


@pytest.mark.parametrize(
    "table",
    [
        torch.zeros(2, 3),
        torch.tensor(0.0),
        torch.full((2, 2), -torch.inf),
        torch.tensor([0.0, torch.nan]),
    ],
)
def test_bad_tables_are_refused(table):
    with pytest.raises(UserError):
        Tabular(table)


@pytest.mark.parametrize(("length", "n_states"), [(0, 2), (3, 1)])
def test_bad_sizes_are_refused(length, n_states):
    with pytest.raises(UserError, match="length >= 1"):
        Product(length, n_states)


def test_a_target_without_log_prob_says_so():
    with pytest.raises(UserError, match="must define log_prob"):
        Target(2, 2).log_prob(torch.zeros(2, dtype=torch.long))


class Differences(Target):
    """The energy of one's own that everyone writes; of bytes it is another one."""

    def log_prob(self, x):
        return -0.7 * (x[..., 1:] - x[..., :-1]).abs().sum(-1)


class Lookup(Target):
    def log_prob(self, x):
        return torch.tensor([0.1, 0.2, 0.4])[x].sum(-1)


@pytest.mark.parametrize(
    ("target", "words"),
    [(Differences, "gives other numbers for uint8 states"), (Lookup, "fails on uint8 states")],
)
def test_energies_that_bytes_change_are_refused(target, words):
    with pytest.raises(UserError, match=f"{target.__name__}.log_prob .*{words}.*x = x.long"):
        check_target(target(4, 3), torch.randint(3, (8, 4)))


def test_judges_ask_for_the_energies_of_long_states():
    x = torch.randint(3, (50, 4))
    target = Differences(4, 3)
    assert torch.equal(energies(target, x.to(torch.uint8)), energies(target, x))
