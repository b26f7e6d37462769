"""A Gibbs iteration of SGDD on binary images: its halves, and the memory of the likelihood step.

    python tests/benchmarks/bench_gibbs.py [--threads 1] [--device cpu] [--output bench_gibbs.json]

Share: seconds of T proposals over those of the iteration, T proposals and H = 20 reverse steps with
the convolutional priors of the small scale (16 x 16, T = 1,000) and the medium scale (32 x 32,
T = 2,000), whose weights do not matter here; both halves alternately, minima. The small one also
with the compiled chain loop. Memory: growth of a process's high-water mark during one likelihood
step, in bytes a chain, which is constant if memory is linear in chains.

On a GPU also the paper's prior (92.4 million parameters, T = 2,000), its loop compiled; its pass in
bfloat16 and compiled against float32 eager; and a training step of it, as a share of the speed of a
matrix product.
"""

import argparse
import subprocess
import sys
from functools import partial
from pathlib import Path

import torch
from common import as_in_a_run, compare, record, seconds
from torch import nn

from jumpbench.methods.sgdd.learned_prior import NetworkScore
from jumpbench.methods.sgdd.likelihood_step import MetropolisStep
from jumpbench.methods.sgdd.pair_likelihood import PairLikelihood, both, exclusive_or, random_pairs
from jumpbench.methods.sgdd.prior import ScorePrior
from jumpbench.networks.denoising_scores import DenoisingScores
from jumpbench.networks.score_convolution import ScoreConvolution
from jumpbench.networks.score_transformer import ScoreTransformer
from jumpbench.processes.schedules import Geometric
from jumpbench.processes.score_entropy import denoising_score_entropy
from jumpbench.processes.uniform import UniformProcess
from jumpbench.samplers.mcmc.metropolis import SingleSiteMetropolis

OPERATORS = {"XOR": (exclusive_or, 0.5), "AND": (both, 4.0)}
PRIORS = {
    "small": (16, 1000, {"channels": 16}),
    "medium": (32, 2000, {"channels": 48, "half": 96, "quarter": 288, "depth": 3}),
}
PAPER = {"dim": 768, "layers": 12, "heads": 12, "feedforward": 3072, "norm_scales": True}
CHAINS = (10, 100)
MEMORY_CHAINS = (8_000, 32_000, 128_000)


def measured(side: int, name: str, chains: int, device: str) -> tuple[PairLikelihood, torch.Tensor]:
    operator, share = OPERATORS[name]
    pairs = random_pairs(side**2, share)
    x = torch.randint(2, (chains, side**2), device=device, dtype=torch.uint8)
    observed = operator(x[:, pairs[0]], x[:, pairs[1]])
    return PairLikelihood(pairs, observed, operator, 1e-4, side**2), x


def network_of(scale: str, device: str) -> tuple[nn.Module, int, int]:
    """Of a scale: the network, the side of its images, and T."""
    if scale == "paper":
        return ScoreTransformer(2, **PAPER).to(device).eval(), 32, 2000
    side, proposals, sizes = PRIORS[scale]
    convolution = ScoreConvolution(2, side, **sizes)
    return DenoisingScores(convolution, UniformProcess(2)).to(device).eval(), side, proposals


def share(
    scale: str, name: str, chains: int, device: str, repeats: int, compiled: bool = False
) -> dict:
    network, side, proposals = network_of(scale, device)
    process, generator = UniformProcess(2), torch.Generator(device).manual_seed(0)
    prior = ScorePrior(NetworkScore(network, Geometric()), process, side**2, max_batch=512)
    likelihood, x = measured(side, name, chains, device)
    [denoiser] = prior.denoisers([0.5], 20)
    kernel, states = SingleSiteMetropolis(compile=compiled), x.long()
    step = MetropolisStep(proposals, kernel=kernel)

    def likelihood_step():
        step(states, states, 2.0, likelihood, 2, generator)

    def prior_step():
        denoiser(states, generator)

    likelihood_step()
    times = [(seconds(likelihood_step), seconds(prior_step)) for _ in range(repeats)]
    one, other = (min(column) for column in zip(*times, strict=True))
    result = {
        "name": f"{scale} prior, {name}, {chains} chains{', compiled loop' * compiled}",
        "proposals": proposals,
        "likelihood_seconds": one,
        "prior_seconds": other,
        "likelihood_share": one / (one + other),
    }
    print(f"{result['name']}: likelihood step {100 * result['likelihood_share']:.1f} %")
    return result


def compiled_network(device: str, batch: int, repeats: int) -> list[dict]:
    """A pass of the paper's prior, and a training step of it: bfloat16, compiled / float32."""
    process = UniformProcess(2)
    plain, side, _ = network_of("paper", device)
    fast = network_of("paper", device)[0]
    fast.compile()
    x = torch.randint(2, (batch, side**2), device=device)
    noise, rate = torch.rand(2, batch, device=device).add(0.1)
    low = partial(torch.autocast, torch.device(device).type, torch.bfloat16)

    def passed(network: nn.Module, enabled: bool) -> None:
        with torch.no_grad(), low(enabled=enabled):
            network(x, noise)

    def trained(network: nn.Module, enabled: bool, optimizer: torch.optim.Optimizer) -> None:
        noised = process.sample(x, noise)
        with low(enabled=enabled):
            log_score = network(noised, noise)
        loss = denoising_score_entropy(process, log_score.float(), x, noised, noise, rate)
        loss.mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    steps = [
        partial(trained, one, one is fast, torch.optim.AdamW(one.parameters(), 3e-4, fused=True))
        for one in (fast, plain)
    ]
    name = f"paper's prior, batch {batch}, bfloat16 and compiled / float32"
    results = [
        compare(f"a pass, {name}", partial(passed, fast, True), partial(passed, plain, False)),
        compare(f"a training step, {name}", *steps, repeats),
    ]
    a = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
    product = min(seconds(lambda: a @ a) for _ in range(repeats))
    operations = 6 * sum(p.numel() for p in plain.parameters()) * x.numel()
    reached = operations / results[1]["ours_seconds"] / (2 * 8192**3 / product)
    results[1]["share_of_matrix_product"] = reached
    print(f"share of a matrix product's speed: {100 * reached:.0f} %")
    return results


def grown(chains: int) -> int:
    """Bytes by which a process's high-water mark grows in a step of 16 proposals (Linux)."""
    likelihood, x = measured(32, "XOR", chains, "cpu")
    step, generator = MetropolisStep(16), torch.Generator().manual_seed(0)
    few, start = measured(32, "XOR", 1, "cpu")
    step(start, start, 1.0, few, 2, generator)

    def high_water() -> int:
        status = Path("/proc/self/status").read_text()
        [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
        return 1024 * int(line.split()[1])

    Path("/proc/self/clear_refs").write_text("5")  # what making the states took does not count
    before = high_water()
    step(x, x, 1.0, likelihood, 2, generator)
    return high_water() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory-of", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--output", default="bench_gibbs.json")
    options = parser.parse_args()
    as_in_a_run(options.threads)
    if options.memory_of:
        print(grown(options.memory_of))
        return
    results = [
        share(scale, name, chains, options.device, options.repeats)
        for scale in PRIORS
        for name in OPERATORS
        for chains in CHAINS
    ]
    results += [
        share("small", name, chains, options.device, options.repeats, compiled=True)
        for name in OPERATORS
        for chains in CHAINS
    ]
    if options.device == "cuda":
        results += [
            share("paper", name, 10, "cuda", options.repeats, compiled)
            for name in OPERATORS
            for compiled in (False, True)
        ]
        results += compiled_network("cuda", 64, options.repeats)
    for chains in MEMORY_CHAINS:
        command = [sys.executable, __file__, "--memory-of", str(chains)]
        growth = int(subprocess.run(command, check=True, capture_output=True).stdout)
        each = growth / chains
        results.append({"name": f"memory, {chains} chains", "bytes_per_chain": each})
        print(f"memory of a likelihood step, {chains} chains: {each:.0f} bytes a chain")
    record(results, options.output)


if __name__ == "__main__":
    main()
