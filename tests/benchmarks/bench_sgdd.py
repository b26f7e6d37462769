"""Cost of the cells of SGDD's table 2, and of the draws behind them against plainer forms.

    python tests/benchmarks/bench_sgdd.py [--threads 1] [--device cpu] [--output bench_sgdd.json]

First the parts: ours against the same work written plainly, alternately, as a ratio of minima.
Then one cell per row at D = 10, in seconds for 10,000 chains (measured on fewer), the SGDD cell
split into its two half-steps, and SGDD's chain-steps per second (Gibbs iterations of all chains).
"""

import argparse

import torch
from common import as_in_a_run, compare, record, seconds

from jumpbench.methods.sgdd.baselines.dps import DPS, ExactDPS
from jumpbench.methods.sgdd.baselines.site_values import mean_values
from jumpbench.methods.sgdd.baselines.smc import SMC
from jumpbench.methods.sgdd.baselines.svdd import SVDD
from jumpbench.methods.sgdd.likelihood_step import ExactStep, MetropolisStep
from jumpbench.methods.sgdd.likelihoods import InverseProblem, Reward, mismatches
from jumpbench.methods.sgdd.pair_likelihood import PairLikelihood, random_pairs
from jumpbench.methods.sgdd.prior import ScorePrior
from jumpbench.methods.sgdd.problems.grid import SumReading
from jumpbench.methods.sgdd.product_prior import ProductPrior
from jumpbench.methods.sgdd.sampler import SplitGibbs
from jumpbench.methods.sgdd.schedule import consistent_penalty

LENGTH, CELL = 10, 10_000
SITES, STEP = 1024, MetropolisStep(64)
PAIRS = (("XOR", torch.bitwise_xor, 0.5), ("AND", torch.bitwise_and, 4.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", default="bench_sgdd.json")
    options = parser.parse_args()
    as_in_a_run(options.threads)
    generator = torch.Generator(options.device).manual_seed(0)
    target = SumReading(LENGTH)
    prior, likelihood = ProductPrior(target.law, LENGTH), target.likelihood()
    generic = ScorePrior(prior.score, prior.process, LENGTH)
    repeats = options.repeats

    states = prior.noise(25_000, generator)
    [kernel], [stepper] = prior.denoisers([0.6], 20), generic.denoisers([0.6], 20)
    matrix = kernel.matrix.float().to(options.device)
    black_box = Reward(likelihood.log_likelihood)
    [sums], [direct] = (mean_values([kernel], of, 3) for of in (likelihood, black_box))
    few, numbers = states[:500], torch.arange(len(states))

    def by_multinomial():
        torch.multinomial(matrix[states.long().flatten()], 1, generator=generator)

    results = [
        compare(
            "a draw per site: alias table / torch.multinomial",
            lambda: kernel(states, generator),
            by_multinomial,
            repeats,
        ),
        compare(
            "a prior step of 20 Euler steps: composed / stepped",
            lambda: kernel(few, generator),
            lambda: stepper(few, generator),
            repeats,
        ),
        compare(
            "mean value of 3 clean draws: site sums / clean states",
            lambda: sums(states, numbers, generator),
            lambda: direct(states, numbers, generator),
            repeats,
        ),
        compare(
            "SGDD: factorised likelihood / black box",
            lambda: SplitGibbs(10, 20, MetropolisStep(10))(prior, likelihood, generator, CELL),
            lambda: SplitGibbs(10, 20, MetropolisStep(10))(prior, black_box, generator, CELL),
            repeats,
        ),
    ]

    for name, operator, share in PAIRS:
        pairs = random_pairs(SITES, share)
        for n_chains in (10, 100, 1000):
            truth = torch.randint(2, (n_chains, SITES), generator=generator, device=options.device)
            observed = operator(truth[:, pairs[0]], truth[:, pairs[1]])
            local = PairLikelihood(pairs, observed, operator, 0.01, SITES)
            full = InverseProblem(
                lambda x, pairs=pairs, of=operator: of(x[:, pairs[0]], x[:, pairs[1]]),
                observed, mismatches, 0.01,
            )  # fmt: skip
            results.append(
                compare(
                    f"64 proposals, {name}, {n_chains} chains: changes / full recount",
                    lambda truth=truth, of=local: STEP(truth, truth, 1.0, of, 2, generator),
                    lambda truth=truth, of=full: STEP(truth, truth, 1.0, of, 2, generator),
                    repeats,
                )
            )

    consistent = {"penalty": consistent_penalty, "prior_first": True}
    rows = {
        "SGDD": (SplitGibbs(10, 20, MetropolisStep(10)), CELL),
        "SGDD, prior steps alone": (SplitGibbs(10, 20, MetropolisStep(0)), CELL),
        "SGDD, exact likelihood step": (SplitGibbs(10, 20, ExactStep()), CELL),
        "SGDD (consistent)": (SplitGibbs(10, 20, MetropolisStep(200), **consistent), CELL),
        "SVDD-PM (M=20)": (SVDD(20, 128, 2, 3, chunk=500), 2000),
        "SVDD-PM (M=100)": (SVDD(100, 128, 2, 3, chunk=100), 500),
        "SMC": (SMC(20, 128, 4, 3, chunk=500), 1000),
        "DPS": (DPS(100, 1, chunk=50), 300),
        "DPS (exact)": (ExactDPS(100), CELL),
    }
    for name, (sampler, chains) in rows.items():

        def once(sampler=sampler, chains=chains):
            sampler(prior, likelihood, generator, chains)

        def nothing(sampler=sampler):
            sampler(prior, likelihood, generator, 1)

        once()
        # Making the tables is paid once per cell, whatever the number of chains.
        setup = min(seconds(nothing) for _ in range(repeats))
        total = min(seconds(once) for _ in range(repeats))
        cell = setup + (total - setup) * CELL / chains
        result = {"name": f"cell: {name}", "cell_seconds": cell, "setup_seconds": setup}
        if isinstance(sampler, SplitGibbs):
            result["chain_steps_per_second"] = CELL * sampler.n_iterations / total
        results.append(result)
        print(f"{name}: {cell:.3g} s a cell, of which {setup:.2g} s for the tables")
    record(results, options.output)


if __name__ == "__main__":
    main()
