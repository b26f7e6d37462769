"""What an oracle says of a sampler, and the parts that all oracles share."""

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from jumpbench.errors import innermost, printable
from jumpbench.samplers.returned import foreign_symbol
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.enumeration import EnumeratedLaw, enumerate_law
from jumpbench.targets.ising import Ising
from jumpbench.targets.tabular import Tabular


class Finding(NamedTuple):
    """``passed`` is None where the oracle does not apply."""

    oracle: str
    passed: bool | None
    words: str


class SmallLaw(NamedTuple):
    """A small law that is known exactly."""

    name: str
    target: DiscreteTarget
    law: EnumeratedLaw

    def counts(self, x: Tensor, weight: Tensor | None = None) -> Tensor:
        """How often each state stands in x (B, D), or its sum of weights (B,); (S,) float64.

        Raises:
            ValueError: a symbol that the target does not have.
        """
        if wrong := foreign_symbol(x, self.target.n_states):
            raise ValueError(wrong)
        powers = self.target.n_states ** torch.arange(self.target.length - 1, -1, -1)
        index = (x.long().cpu() * powers).sum(-1)
        weight = torch.ones(len(index)) if weight is None else weight
        zero = torch.zeros(len(self.law.probs), dtype=torch.float64)
        return zero.index_add_(0, index, weight.double())

    def common(self, draws: int, many: int, *rows: Tensor) -> list[Tensor]:
        """Rows (..., S) of numbers of the states, those of the rare ones summed up: they are
        expected fewer than ``many`` times among so many draws."""
        often = self.law.probs * draws >= many
        return [torch.cat((r[..., often], r[..., ~often].sum(-1, True)), -1) for r in rows]


def problems() -> list[SmallLaw]:
    """Arbitrary laws on 2^4 and on 3^3 states, and a torus of 3 x 3 spins for lattice samplers."""
    tables = [torch.randn((n,) * d, generator=seeded(n)) for n, d in ((2, 4), (3, 3))]
    named = {"2^4 states": Tabular(tables[0]), "3^3 states": Tabular(tables[1]),
             "a 3x3 torus": Ising(3, 0.3)}  # fmt: skip
    return [SmallLaw(name, target, enumerate_law(target)) for name, target in named.items()]


def steep_problems() -> list[SmallLaw]:
    """Laws with log-ratios up to about 15, where a clamped or scaled acceptance shows."""
    named = {"steep 3^3 states": Tabular(3 * torch.randn((3,) * 3, generator=seeded(5))),
             "a cold 3x3 torus": Ising(3, 1.2)}  # fmt: skip
    return [SmallLaw(name, target, enumerate_law(target)) for name, target in named.items()]


def defined(
    tried: Callable[[SmallLaw], object], laws: Callable[[], list[SmallLaw]] = problems
) -> tuple[list[SmallLaw], list[Finding]]:
    """The small laws on which a sampler runs at all; a finding if there are none."""
    good, why = [], ""
    for problem in laws():
        try:
            tried(problem)
        except Exception as error:  # whatever a sampler raises that is not defined there
            why = why or words_of(error)
        else:
            good.append(problem)
    return good, [] if good else [Finding("runs", False, f"on none of the small laws: {why}")]


def guarded(oracle: str, look: Callable[[], Finding | list[Finding]]) -> list[Finding]:
    """What an oracle finds; an exception that the sampler raised under it is a failure."""
    try:
        found = look()
    except Exception as error:  # whatever a sampler raises
        return [Finding(oracle, False, words_of(error))]
    return [found] if isinstance(found, Finding) else found


def seeded(seed: int, device: torch.device | str = "cpu") -> torch.Generator:
    return torch.Generator(device).manual_seed(seed)


def states_of_random_numbers() -> tuple[object, ...]:
    """Of the global generators of torch, Python and NumPy."""
    kind, words, *rest = cast(tuple[Any, ...], np.random.get_state())
    return torch.get_rng_state().tolist(), random.getstate(), (kind, words.tolist(), *rest)


def seeds(draw: Callable[[int], Tensor]) -> list[Finding]:
    """Of ``draw(seed)``: a seed decides the result, and no global generator is touched."""
    before = states_of_random_numbers()
    first = draw(1)
    touched = states_of_random_numbers() != before
    torch.rand(3)  # a sampler that draws from the global generator goes on from another state
    again, other = draw(1), draw(2)
    if not torch.equal(first, again):
        same = "one seed of the generator gave two results: draw from `generator` alone"
    elif torch.equal(first, other):
        same = "two seeds of the generator gave the same result: draw from `generator`"
    else:
        same = ""
    spoken = "the global random numbers were used or seeded: draw from `generator` alone"
    return [
        Finding("seeds", not same, same or "one seed, one result; another seed, another"),
        Finding("global random numbers", not touched, spoken if touched else "untouched"),
    ]


def words_of(error: BaseException) -> str:
    """One line of an exception that a sampler raised."""
    cause = innermost(error)
    text = str(cause).splitlines()[0] if str(cause) else ""
    return printable(f"{type(cause).__name__}: {text}")[:160]


def normal_of_chi_squared(value: float, degrees: int) -> float:
    """The standard normal number of the same tail, by Wilson and Hilferty (1931)."""
    spread = 2 / (9 * max(degrees, 1))
    return ((value / max(degrees, 1)) ** (1 / 3) - 1 + spread) / spread**0.5


def worst(oracle: str, limit: float, z: Sequence[tuple[str, float]], what: str) -> Finding:
    """Whether all z-scores (place, z) are within the limit, with the largest of them."""
    place, value = max(z, key=lambda each: abs(each[1]))
    return Finding(oracle, abs(value) <= limit, f"{what}: |z| <= {abs(value):.1f} ({place}; "
                   f"limit {limit:g})")  # fmt: skip
