"""DASBS: tau-leaping outside the network, a controller step, a whole refresh.

    python tests/benchmarks/bench_dasbs.py [--threads 2] [--output bench_dasbs.json]

Leaping: 16 chains, the network replaced by a stored output; wanted: at most 300 us a step.
Controller step: forward and backward of 16 pairs x 8 times, 8 x 8 lattice, corrector and target
ratios once per pair. Once with the closed-form ratios of Ising, once with a law given by its energy
alone, each against two other sides:
- "against the same step written plainly": textbook networks with the same parameters (see
  plain_lattice.py), corrector and ratios at every (pair, time). Both losses are checked to agree
  from the same seed. Wanted: at most 0.6 of its time.
- "sharing alone": the same networks on both sides, so that only the sharing per pair is seen. The
  controller's own forward and backward cannot be shared, and with a corrector of equal size they
  are three quarters of the other side: the fraction is bounded near 0.75.
Refresh: 20 steps of tau-leaping against its 20 network calls alone; wanted: at most 1.15.
On a GPU the last two use bfloat16, 128 pairs, and for the refresh the compiled network.
"""

import argparse

import torch
from common import as_in_a_run, compare, record, seconds
from plain_lattice import PlainController, PlainCorrector

from jumpbench.methods.dasbs.bridge import Pairs, Reference
from jumpbench.methods.dasbs.matcher import Matcher
from jumpbench.methods.dasbs.matching import AdjointMatching
from jumpbench.methods.dasbs.sampler import Grid, simulate_controlled
from jumpbench.networks.lattice_transformer import LatticeController, LatticeCorrector
from jumpbench.processes.schedules import ModifiedLogLinear
from jumpbench.processes.uniform import UniformProcess
from jumpbench.targets.base import Target
from jumpbench.targets.ising import Ising

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SCHEDULE = ModifiedLogLinear(1.0, 0.5)


class EnergyOnly(Target):
    """The Ising law without its closed-form ratios: what a user's own energy costs."""

    def __init__(self, size: int) -> None:
        super().__init__(size * size, 2)
        self.log_prob = Ising(size, 0.28).log_prob


class EveryReplicate:
    """Adjoint matching written plainly: pairs repeated for every time before anything else."""

    def controller(self, pairs, n_times, end_ratios, reference, generator):
        repeated = Pairs(*(x.repeat_interleave(n_times, 0) for x in (pairs.start, pairs.end)))
        t, x, target = AdjointMatching().controller(repeated, 1, end_ratios, reference, generator)
        return (
            t.view(-1, n_times),
            x.view(-1, n_times, x.shape[-1]),
            target.unflatten(0, (-1, n_times)).squeeze(2),
        )


def reference(n_states: int) -> Reference:
    return Reference(UniformProcess(n_states), SCHEDULE)


def leaping(size: int, n_states: int, n_steps: int = 200) -> dict[str, object]:
    """Microseconds per step outside the network."""
    generator = torch.Generator(DEVICE).manual_seed(0)
    shape = (16, size * size)
    stored = 0.3 * torch.randn(*shape, n_states, generator=generator, device=DEVICE)
    x = torch.randint(n_states, shape, generator=generator, device=DEVICE)
    grid = Grid.uniform(SCHEDULE, n_steps)
    law = reference(n_states)

    def run() -> None:
        simulate_controlled(lambda x, t: stored, x, grid, law, generator)

    run()
    microseconds = min(seconds(run) for _ in range(7)) / n_steps * 1e6
    name = f"leaping outside the network, 16 chains of {size}x{size}, {n_states} symbols"
    print(f"{name}: {microseconds:.0f} us a step")
    return {"name": name, "microseconds_per_step": microseconds}


class Step:
    """Forward and backward of the controller on ``pairs`` fixed pairs, 8 times each."""

    def __init__(self, target, pairs, matching, controller, corrector) -> None:
        self.target = target
        torch.manual_seed(0)
        self.matcher = Matcher(target.length, 2, controller, torch.optim.SGD, matching).to(DEVICE)
        self.controller = self.matcher.network
        self.corrector = corrector(target.length, 2).to(DEVICE).requires_grad_(False)
        self.generator = torch.Generator(DEVICE).manual_seed(0)
        shape = (2, pairs, target.length)
        self.ends = torch.randint(2, shape, generator=self.generator, device=DEVICE)

    def ratios(self, x: torch.Tensor) -> torch.Tensor:
        return self.target.neighbor_log_ratios(x) - self.corrector(x)

    def __call__(self) -> torch.Tensor:
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=DEVICE.type == "cuda"):
            loss = self.matcher.controller_divergence(
                self.controller, Pairs(*self.ends), self.ratios, reference(2), self.generator
            ).mean()
        loss.backward()
        self.controller.zero_grad()
        return loss.detach()


def controller_steps(name: str, target: Target, pairs: int) -> list[dict[str, object]]:
    ours = Step(target, pairs, AdjointMatching(), LatticeController, LatticeCorrector)
    sharing = Step(target, pairs, EveryReplicate(), LatticeController, LatticeCorrector)
    plain = Step(target, pairs, EveryReplicate(), PlainController, PlainCorrector)
    tolerance = {"rtol": 1e-2 if DEVICE.type == "cuda" else 1e-4, "atol": 0}
    expected = ours()
    for other in (sharing, plain):
        torch.testing.assert_close(other(), expected, **tolerance)
    results = [
        compare(f"controller step against the same step written plainly, {name}", ours, plain),
        compare(f"controller step, sharing alone, {name}", ours, sharing),
    ]
    return [result | {"fraction": 1 / result["speedup"]} for result in results]


def refresh(size: int, chains: int, n_steps: int = 20) -> dict[str, object]:
    generator = torch.Generator(DEVICE).manual_seed(0)
    torch.manual_seed(0)
    network = LatticeController(size * size, 2).to(DEVICE).requires_grad_(False)
    if DEVICE.type == "cuda":
        network = torch.compile(network, dynamic=False)
    x = torch.randint(2, (chains, size * size), generator=generator, device=DEVICE)
    grid = Grid.uniform(SCHEDULE, n_steps)
    t = torch.zeros(chains, device=DEVICE)
    law = reference(2)

    @torch.no_grad()
    def calls() -> None:
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=DEVICE.type == "cuda"):
            for time in grid.times[:-1]:
                network(x, t.fill_(time))

    def whole() -> None:
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=DEVICE.type == "cuda"):
            simulate_controlled(network, x, grid, law, generator)

    result = compare(f"refresh of {chains} chains on {size}x{size}", whole, calls)
    return result | {"fraction": 1 / result["speedup"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", default="bench_dasbs.json")
    options = parser.parse_args()
    as_in_a_run(options.threads)
    large = DEVICE.type == "cuda"
    pairs = 128 if large else 16
    results = [
        leaping(24, 2),
        leaping(16, 4),
        *controller_steps("Ising ratios", Ising(8, 0.28), pairs),
        *controller_steps("an energy alone", EnergyOnly(8), pairs),
        refresh(24 if large else 16, pairs),
    ]
    record(results, options.output)


if __name__ == "__main__":
    main()
