"""Oracles of a Markov kernel, see :mod:`jumpbench.samplers.chain` for what it is called with."""

from typing import Any

import torch
from torch import Tensor

from jumpbench.samplers.chain import ChainInfo, Kernel
from jumpbench.samplers.oracles.finding import (
    Finding,
    SmallLaw,
    defined,
    guarded,
    normal_of_chi_squared,
    seeded,
    seeds,
    steep_problems,
    words_of,
    worst,
)
from jumpbench.samplers.returned import foreign_symbol
from jumpbench.targets.base import random_states
from jumpbench.targets.counted import Counted

CHAINS = 20_000
LIMIT = 4.5
"""Of a normal number: seven in a million of right kernels."""
LEAST_REACHED = 0.8


def of_kernel(kernel: Kernel) -> list[Finding]:
    """Findings of all oracles, on those of the small laws that the kernel is defined for.

    - ``stationarity``: independent chains that start at exact draws are exact draws after one and
      after five steps, of steep laws too; their counts by a chi-squared test;
    - ``independence``: chains of one batch that start at one state agree as often as chance says;
    - ``reaches``: chains that all start at one state come to states that hold most of the law;
    - ``seeds``, ``global random numbers``; ``input``: the states given are left as they are;
    - ``states``: shape, type and symbols of what is returned, and the acceptance;
    - ``device``: the same on a GPU, where there is one;
    - ``cost``: the energy evaluations reported are those made, of a target that counts them.
    """

    def tried(p: SmallLaw) -> None:
        x = random_states(p.target, (2,), seeded(0))
        _is_move(kernel(p.target, x, 1, seeded(0)), x)

    good, failed = defined(tried)
    steep, _ = defined(tried, steep_problems)
    if failed:
        return failed
    states = _states(kernel, good[0])
    if _no_states(kernel, good[0]):  # nothing else can be said of them
        return [states]
    return [
        *guarded("stationarity", lambda: _stationarity(kernel, [*good, *steep])),
        *guarded("independence", lambda: _independence(kernel, good[0])),
        *guarded("reaches", lambda: _reaches(kernel, good)),
        *guarded("seeds", lambda: seeds(lambda seed: _moved(kernel, good[0], seed))),
        *guarded("input", lambda: _input(kernel, good[0])),
        states,
        _device(kernel, good[0]),
        _cost(kernel, good[0]),
    ]


def _is_move(given: Any, start: Tensor) -> None:
    x, info = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    if not isinstance(x, Tensor) or not isinstance(info, ChainInfo):
        raise TypeError(f"it returns {type(given).__name__}: return states and a ChainInfo")
    if not isinstance(info.acceptance, Tensor) or info.acceptance.shape != start.shape[:1]:
        raise TypeError("the acceptance of its ChainInfo is no tensor with one share a chain")


def _no_states(kernel: Kernel, problem: SmallLaw) -> bool:
    """Whether what came back for ``long`` states are not as many states of the target."""
    given = random_states(problem.target, (64,), seeded(0)).long()
    x, _ = kernel(problem.target, given, 3, seeded(1))
    if x.shape != given.shape or x.dtype != given.dtype:
        return True
    return bool(foreign_symbol(x, problem.target.n_states))


def _moved(kernel: Kernel, problem: SmallLaw, seed: int) -> Tensor:
    x = random_states(problem.target, (64,), seeded(0))
    return kernel(problem.target, x, 8, seeded(seed))[0].clone()


def _stationarity(kernel: Kernel, good: list[SmallLaw]) -> Finding:
    z = []
    for problem in good:
        probs = problem.law.probs
        index = probs.multinomial(CHAINS, replacement=True, generator=seeded(1))
        start = problem.law.states[index].long()
        for steps in (1, 5):
            x, _ = kernel(problem.target, start.clone(), steps, seeded(2))
            counts, expected = problem.common(CHAINS, 30, problem.counts(x), probs * CHAINS)
            seen = expected > 0
            chi = float(((counts - expected)[seen].square() / expected[seen]).sum())
            place = f"{problem.name}, {steps} step{'s' * (steps > 1)}"
            z.append((place, max(normal_of_chi_squared(chi, int(seen.sum()) - 1), 0.0)))
    return worst("stationarity", LIMIT, z, f"{CHAINS} exact draws stay exact")


def _independence(kernel: Kernel, problem: SmallLaw) -> Finding:
    x = problem.law.states[:1].long().repeat(CHAINS, 1)
    x, _ = kernel(problem.target, x, 8, seeded(4))
    powers = problem.target.n_states ** torch.arange(problem.target.length)
    state = (x.long() * powers).sum(-1)
    by_chance = float((torch.bincount(state).double() / CHAINS).square().sum())
    spread = max(by_chance * (1 - by_chance) / CHAINS, 1e-12) ** 0.5
    pairs = {"neighbours": 1, "halves of a batch": CHAINS // 2}
    z = [
        (name, (float((state == state.roll(shift)).double().mean()) - by_chance) / spread)
        for name, shift in pairs.items()
    ]
    return worst("independence", LIMIT, z, f"{CHAINS} chains of one start do not follow each other")


def _reaches(kernel: Kernel, good: list[SmallLaw]) -> Finding:
    least, place = 1.0, ""
    for problem in good:
        x = problem.law.states[:1].long().repeat(2048, 1)
        x, _ = kernel(problem.target, x, 64, seeded(3))
        mass = float(problem.law.probs[problem.counts(x) > 0].sum())
        if mass <= least:
            least, place = mass, problem.name
    return Finding("reaches", least >= LEAST_REACHED, f"from one state, states that hold "
                   f"{least:.0%} of the law ({place}; at least {LEAST_REACHED:.0%})")  # fmt: skip


def _input(kernel: Kernel, problem: SmallLaw) -> Finding:
    x = random_states(problem.target, (64,), seeded(0))
    before = x.clone()
    kernel(problem.target, x, 8, seeded(1))
    same = torch.equal(x, before)
    return Finding("input", same, "left as it is" if same else "its states were changed in place")


def _states(kernel: Kernel, problem: SmallLaw) -> Finding:
    wrong = []
    for dtype in (torch.long, torch.uint8):
        given = random_states(problem.target, (64,), seeded(0)).to(dtype)
        try:
            x, info = kernel(problem.target, given, 3, seeded(1))
            if x.shape != given.shape or x.dtype != dtype:
                wrong.append(f"{dtype} {tuple(given.shape)} became {x.dtype} {tuple(x.shape)}")
            elif foreign := foreign_symbol(x, problem.target.n_states):
                wrong.append(foreign)
            share = info.acceptance
            if share.shape != (64,) or not ((share >= 0) & (share <= 1)).all():
                wrong.append("info.acceptance is no share of each chain")
        except Exception as error:  # whatever a kernel raises
            of = "torch.uint8, which runs have" if dtype == torch.uint8 else str(dtype)
            wrong.append(f"given states of {of}: {words_of(error)}")
    return Finding("states", not wrong, "; ".join(wrong) or "shape, type, symbols and acceptance")


def _device(kernel: Kernel, problem: SmallLaw) -> Finding:
    if not torch.cuda.is_available():
        return Finding("device", None, "there is no GPU here; the CPU alone was checked")
    x = random_states(problem.target, (64,), seeded(0)).cuda()
    try:
        moved, _ = kernel(problem.target, x, 3, seeded(1, "cuda"))
    except Exception as error:  # mostly a tensor that was made on the CPU
        return Finding("device", False, words_of(error))
    return Finding("device", moved.is_cuda, f"states of the GPU came back on {moved.device}")


def _cost(kernel: Kernel, problem: SmallLaw) -> Finding:
    chains, counted = 64, Counted(problem.target)
    x = random_states(counted, (chains,), seeded(0))
    try:
        _, info = kernel(counted, x, 7, seeded(1))
    except Exception as error:  # it asks for more than log_prob
        return Finding("cost", None, f"it needs more than log_prob: {words_of(error)}")
    made, said = counted.states, chains * reported(info)
    words = f"{chains} chains of 7 steps made {made} energy evaluations and reported {said:g}"
    return Finding("cost", made == said, words)


def reported(info: Any) -> float:
    return float(getattr(info, "energy_evaluations", 0.0))
