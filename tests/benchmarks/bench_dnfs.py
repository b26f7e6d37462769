"""DNFS: one pass for all neighbours, an epoch that does not repeat itself, bf16, resampling.

    python tests/benchmarks/bench_dnfs.py [--threads 2] [--small] [--parts] [--hidden 128]

- All neighbour rates of leTF from one pass, against one pass per neighbour. Wanted: D / 4 times.
- An epoch, a roll-out and its inner steps: against the form that evaluates the network once more on
  all states of the roll-out, in one batch, for the estimate of d/dt log Z_t. At D = 100, 256
  trajectories of 64 steps and 100 steps of 128 pairs. Wanted: 2.5; 1.4 to 1.9 measured at h = 64.
  By arithmetic it would be 1.3: what both sides pay for the losses is over half of the work.
- The same epoch in bf16, for information.
- Both streams in one batched pass against two separate ones.
- A step of LEAPS: rates and weights from one network pass, against one pass for each.
- Resampling 10,000 particles against a loop over particles: one search each in torch (wanted: 50
  times), or one walk along a Python list of numbers, the fastest loop there is.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from common import as_in_a_run, compare, record

from jumpbench.methods.dnfs.estimates import control_variate
from jumpbench.methods.dnfs.learner import Learner
from jumpbench.methods.dnfs.paths import time_grid
from jumpbench.networks.letf import LeTF
from jumpbench.networks.locally_equivariant import LocallyEquivariantConvolution
from jumpbench.samplers.annealed_jumps import annealed_rollout, euler_step
from jumpbench.samplers.annealed_path import control_integrand, residual_generator, slope_of
from jumpbench.samplers.resampling import systematic
from jumpbench.targets.base import random_states
from jumpbench.targets.ising import Ising


def neighbours(device: str, length: int, hidden: int, batch: int) -> dict[str, Any]:
    torch.manual_seed(0)
    network = LeTF(length, 2, hidden=hidden).to(device)
    x = torch.randint(2, (batch, length), device=device)
    t = torch.rand(batch, device=device)

    @torch.no_grad()
    def one_pass() -> None:
        flux = network(x, t)
        flux.relu(), (-flux).relu()

    @torch.no_grad()
    def pass_per_neighbour() -> None:
        network(x, t)
        for site in range(length):
            y = x.clone()
            y[:, site] = 1 - y[:, site]
            network(y, t)[:, site].relu()

    name = f"rates of all neighbours, D={length}, batch {batch}"
    return compare(name, one_pass, pass_per_neighbour, repeats=3)


def epoch(
    device: str, size: int, hidden: int, layers: int, chains: int, n_steps: int, inner: int,
    dtype: torch.dtype | None = None, repeats: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """Ours against one that throws the roll-out's fluxes away and evaluates stored states again."""
    target = Ising(size, 0.2)
    torch.manual_seed(0)
    network = LeTF(size**2, 2, hidden=hidden, layers=layers).to(device)
    optimizer = torch.optim.AdamW(network.parameters(), 1e-3)
    generator = torch.Generator(device).manual_seed(0)
    times = time_grid(n_steps, device)

    def steps(learner: Learner) -> None:
        for _ in range(inner):
            loss = learner.loss(generator)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def ours(low: torch.dtype | None = dtype) -> None:
        with torch.autocast(torch.device(device).type, low, enabled=low is not None):
            learner = Learner(network, n_steps, chains, stored=1)
            learner.refresh(target, generator)
            steps(learner)

    @torch.no_grad()
    def again(path: torch.Tensor) -> torch.Tensor:
        x, t = path.flatten(0, 1), times.repeat_interleave(chains)
        xi = control_integrand(slope_of(target, x), t, network(x, t), 5.0)
        return xi.view(n_steps + 1, chains)

    @torch.no_grad()
    def simulated() -> torch.Tensor:
        x = random_states(target, (chains,), generator)
        path = [x]
        for k in range(n_steps):
            flux = network(x, times[k].expand(chains))
            x = euler_step(x, (times[k + 1] - times[k]) * flux.relu(), generator)
            path.append(x)
        return torch.stack(path)

    def repeating() -> None:
        path = simulated()
        learner = Learner(network, n_steps, chains, stored=1)
        xi = again(path).unsqueeze(1)
        learner.store.add(path, control_variate(xi, xi))
        learner.target = target
        steps(learner)

    if dtype is not None:
        name = f"epoch in {dtype}, against float32, D={size**2}, {chains} x {n_steps} + {inner}"
        return compare(name, ours, lambda: ours(None), repeats, warm_up=repeats > 1)
    name = f"epoch, D={size**2}, h={hidden}, {chains} x {n_steps} + {inner}"
    return compare(name, ours, repeating, repeats, warm_up=repeats > 1)


def epoch_in_parts(
    device: str, size: int, hidden: int, layers: int, chains: int, n_steps: int, inner: int
) -> dict[str, Any]:
    """The ratio of :func:`epoch` from one pass, one evaluation of the store and one loss step.

    For machines on which whole epochs take too long: processor seconds, the store in quarters.
    """
    torch.manual_seed(0)
    network = LeTF(size**2, 2, hidden=hidden, layers=layers).to(device)
    generator = torch.Generator(device).manual_seed(0)
    optimizer = torch.optim.AdamW(network.parameters(), 1e-3)
    learner = Learner(network, 2, chains, stored=1)
    learner.refresh(Ising(size, 0.2), generator)

    @torch.no_grad()
    def evaluated(count: int) -> None:
        x = torch.randint(2, (count, size**2), generator=generator, device=device)
        network(x, torch.rand(count, generator=generator, device=device))

    def step() -> None:
        loss = learner.loss(generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def spent(work: Callable[[], None], repeats: int) -> float:
        taken = []
        for _ in range(repeats):
            before = time.process_time()
            work()
            taken.append(time.process_time() - before)
        return min(taken)

    points = n_steps + 1
    rollout = points * spent(lambda: evaluated(chains), 4)
    losses = inner * spent(step, 4)
    again = 4 * spent(lambda: evaluated(points * chains // 4), 1)
    name = f"epoch in parts, D={size**2}, h={hidden}, {chains} x {n_steps} + {inner}"
    speedup = (rollout + losses + again) / (rollout + losses)
    print(
        f"{name}: roll-out {rollout:.3g} s, losses {losses:.3g} s, store again {again:.3g} s",
        end="",
    )
    print(f", {speedup:.2f} times as fast")
    return {
        "name": name, "rollout_cpu_seconds": rollout, "losses_cpu_seconds": losses,
        "again_cpu_seconds": again, "speedup": speedup,
    }  # fmt: skip


def streams(device: str, length: int, hidden: int, batch: int) -> dict[str, Any]:
    """The paired blocks against the same blocks run on one stream after the other."""
    torch.manual_seed(0)
    block = LeTF(length, 2, hidden=hidden).to(device).blocks[0]
    single = LeTF(length, 2, hidden=hidden).to(device).blocks[0]
    for layer in single.modules():
        for name, parameter in list(layer.named_parameters(recurse=False)):
            setattr(layer, name, torch.nn.Parameter(parameter[:1].detach().clone()))
    u = torch.randn(2, batch, length + 1, hidden, device=device)

    @torch.no_grad()
    def both() -> None:
        block(u)

    @torch.no_grad()
    def one_by_one() -> None:
        single(u[:1])
        single(u[1:])

    return compare(f"both streams, D={length}, batch {batch}", both, one_by_one, repeats=5)


def leaps_step(device: str, size: int, chains: int, n_steps: int) -> dict[str, Any]:
    """A roll-out of LEAPS against the same with the network called twice a step."""
    target = Ising(size, 0.2)
    torch.manual_seed(0)
    network = LocallyEquivariantConvolution(size**2, 2, 20, (3, 5)).to(device)
    generator = torch.Generator(device).manual_seed(0)
    times = time_grid(n_steps, device)

    def ours() -> None:
        annealed_rollout(network, target, times, chains, generator)

    @torch.no_grad()
    def twice() -> None:
        x = random_states(target, (chains,), generator)
        weights = torch.zeros(chains, dtype=torch.float64, device=device)
        for k in range(n_steps):
            t, dt = times[k].expand(chains), times[k + 1] - times[k]
            weights += dt * residual_generator(target, x, t, network(x, t)).double()
            x = euler_step(x, dt * network(x, t).relu(), generator)

    name = f"LEAPS, {chains} chains of {n_steps} steps, D={size**2}: one pass a step / two"
    return compare(name, ours, twice, repeats=3)


def resampling(device: str, particles: int) -> list[dict[str, Any]]:
    log_weights = torch.randn(1, particles, device=device)
    generator = torch.Generator(device).manual_seed(0)

    def start() -> torch.Tensor:
        return torch.rand((), generator=generator, device=device, dtype=torch.float64)

    def searches() -> None:
        cumulative, u = log_weights[0].double().softmax(0).cumsum(0), start()
        torch.stack([torch.searchsorted(cumulative, (u + j) / particles) for j in range(particles)])

    def walk() -> None:
        weights, u = log_weights[0].double().softmax(0).tolist(), float(start())
        ancestors, m, reached = [], 0, weights[0]
        for j in range(particles):
            while reached < (u + j) / particles and m + 1 < particles:
                m += 1
                reached += weights[m]
            ancestors.append(m)
        torch.tensor(ancestors, device=device)

    name = f"systematic resampling of {particles} particles, against a loop of"
    return [
        compare(f"{name} {loop.__name__}", lambda: systematic(log_weights, generator), loop)
        for loop in (searches, walk)
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--small", action="store_true", help="a few seconds, for a busy machine")
    parser.add_argument("--hidden", type=int, default=128, help="width; the released code has 64")
    parser.add_argument(
        "--parts", action="store_true", help="the epoch from its parts: a minute or two"
    )
    parser.add_argument("--output", default="bench_dnfs.json")
    arguments = parser.parse_args()
    as_in_a_run(arguments.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    sizes = (10, arguments.hidden, 3, 256, 64, 100)
    if arguments.small:
        sizes = (6, 32, 2, 64, 16, 10)
    size, hidden, *_ = sizes
    results = [
        neighbours(device, size**2, hidden, 16),
        streams(device, size**2, hidden, 32),
        leaps_step(device, size, 128, 16),
        *resampling(device, 10_000),
    ]
    if arguments.parts:
        results.append(epoch_in_parts(device, *sizes))
    else:
        results.append(epoch(device, *sizes))
        results.append(epoch(device, *sizes, torch.bfloat16))
    record(results, arguments.output)


if __name__ == "__main__":
    main()
