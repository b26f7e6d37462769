"""DNFS: one pass for all neighbours, an epoch that does not repeat itself, bf16, resampling.

    python tests/benchmarks/bench_dnfs.py [--threads 2] [--small] [--output bench_dnfs.json]

- All neighbour rates of leTF from one pass, against one pass per neighbour. Wanted: D / 4 times.
- An epoch, a roll-out and its inner steps: against the form that evaluates the network once more on
  all states of the roll-out, in one batch, for the estimate of d/dt log Z_t. At D = 100, 256
  trajectories of 64 steps and 100 steps of 128 pairs. Wanted: 2.5 times.
- The same epoch in bf16, for information.
- Both streams in one batched pass against two separate ones.
- Resampling 10,000 particles against one search per particle. Wanted: 50 times.
"""

import argparse
from typing import Any

import torch
from common import as_in_a_run, compare, record

from jumpbench.methods.dnfs.estimates import control_variate
from jumpbench.methods.dnfs.learner import Learner
from jumpbench.methods.dnfs.paths import euler_step, time_grid
from jumpbench.methods.dnfs.residual import control_integrand, slope_of
from jumpbench.networks.letf import LeTF
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
    dtype: torch.dtype | None = None,
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
        return compare(name, ours, lambda: ours(None), repeats=2)
    name = f"epoch, D={size**2}, {chains} x {n_steps} + {inner}"
    return compare(name, ours, repeating, repeats=2)


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


def resampling(device: str, particles: int) -> dict[str, Any]:
    log_weights = torch.randn(1, particles, device=device)
    generator = torch.Generator(device).manual_seed(0)

    def loop() -> None:
        cumulative = log_weights[0].double().softmax(0).cumsum(0)
        start = torch.rand((), generator=generator, device=device, dtype=torch.float64)
        ancestors = []
        for j in range(particles):
            ancestors.append(torch.searchsorted(cumulative, (start + j) / particles))
        torch.stack(ancestors)

    name = f"systematic resampling of {particles} particles"
    return compare(name, lambda: systematic(log_weights, generator), loop)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--small", action="store_true", help="a few seconds, for a busy machine")
    parser.add_argument("--output", default="bench_dnfs.json")
    arguments = parser.parse_args()
    as_in_a_run(arguments.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    size, hidden, layers, chains, n_steps, inner = (
        (6, 32, 2, 64, 16, 10) if arguments.small else (10, 128, 3, 256, 64, 100)
    )
    results = [
        neighbours(device, size**2, hidden, 16),
        streams(device, size**2, hidden, 32),
        epoch(device, size, hidden, layers, chains, n_steps, inner),
        epoch(device, size, hidden, layers, chains, n_steps, inner, torch.bfloat16),
        resampling(device, 10_000),
    ]
    record(results, arguments.output)


if __name__ == "__main__":
    main()
