"""A Gibbs iteration of SGDD on binary images: its halves, and the memory of the likelihood step.

    python tests/benchmarks/bench_gibbs.py [--threads 1] [--device cpu] [--output bench_gibbs.json]

Share: seconds of T proposals over those of the iteration, T proposals and H = 20 reverse steps with
the convolutional priors of the small scale (16 x 16, T = 1,000) and the medium scale (32 x 32,
T = 2,000), whose weights do not matter here; both halves alternately, minima. Memory: growth of a
process's high-water mark during one likelihood step, in bytes a chain, which is constant if memory
is linear in chains.
"""

import argparse
import resource
import subprocess
import sys

import torch
from common import as_in_a_run, record, seconds

from jumpbench.methods.sgdd.learned_prior import NetworkScore
from jumpbench.methods.sgdd.likelihood_step import MetropolisStep
from jumpbench.methods.sgdd.pair_likelihood import PairLikelihood, both, exclusive_or, random_pairs
from jumpbench.methods.sgdd.prior import ScorePrior
from jumpbench.networks.denoising_scores import DenoisingScores
from jumpbench.networks.score_convolution import ScoreConvolution
from jumpbench.processes.schedules import Geometric
from jumpbench.processes.uniform import UniformProcess

OPERATORS = {"XOR": (exclusive_or, 0.5), "AND": (both, 4.0)}
PRIORS = {
    "small": (16, 1000, {"channels": 16}),
    "medium": (32, 2000, {"channels": 48, "half": 96, "quarter": 288, "depth": 3}),
}
CHAINS = (10, 100)
MEMORY_CHAINS = (8_000, 32_000, 128_000)


def measured(side: int, name: str, chains: int, device: str) -> tuple[PairLikelihood, torch.Tensor]:
    operator, share = OPERATORS[name]
    pairs = random_pairs(side**2, share)
    x = torch.randint(2, (chains, side**2), device=device, dtype=torch.uint8)
    observed = operator(x[:, pairs[0]], x[:, pairs[1]])
    return PairLikelihood(pairs, observed, operator, 1e-4, side**2), x


def share(scale: str, name: str, chains: int, device: str, repeats: int) -> dict:
    side, proposals, sizes = PRIORS[scale]
    process, generator = UniformProcess(2), torch.Generator(device).manual_seed(0)
    network = DenoisingScores(ScoreConvolution(2, side, **sizes), process).to(device).eval()
    prior = ScorePrior(NetworkScore(network, Geometric()), process, side**2, max_batch=512)
    likelihood, x = measured(side, name, chains, device)
    [denoiser] = prior.denoisers([0.5], 20)
    step, states = MetropolisStep(proposals), x.long()

    def likelihood_step():
        step(states, states, 2.0, likelihood, 2, generator)

    def prior_step():
        denoiser(states, generator)

    likelihood_step()
    times = [(seconds(likelihood_step), seconds(prior_step)) for _ in range(repeats)]
    one, other = (min(column) for column in zip(*times, strict=True))
    result = {
        "name": f"{scale} prior, {name}, {chains} chains",
        "proposals": proposals,
        "likelihood_seconds": one,
        "prior_seconds": other,
        "likelihood_share": one / (one + other),
    }
    print(f"{result['name']}: likelihood step {100 * result['likelihood_share']:.1f} %")
    return result


def grown(chains: int) -> int:
    """Bytes by which a fresh process's high-water mark grows in one step of 16 proposals."""
    likelihood, x = measured(32, "XOR", chains, "cpu")
    step, generator = MetropolisStep(16), torch.Generator().manual_seed(0)
    few, start = measured(32, "XOR", 1, "cpu")
    step(start, start, 1.0, few, 2, generator)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step(x, x, 1.0, likelihood, 2, generator)
    return 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


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
    for chains in MEMORY_CHAINS:
        command = [sys.executable, __file__, "--memory-of", str(chains)]
        growth = int(subprocess.run(command, check=True, capture_output=True).stdout)
        each = growth / chains
        results.append({"name": f"memory, {chains} chains", "bytes_per_chain": each})
        print(f"memory of a likelihood step, {chains} chains: {each:.0f} bytes a chain")
    record(results, options.output)


if __name__ == "__main__":
    main()
