"""Chain-steps per second of single-site Metropolis-Hastings, against the same work written plainly.

    python tests/benchmarks/bench_mcmc.py [--threads 1] [--device cpu] [--output bench_mcmc.json]

The target keeps each chain near a reference sequence (a penalty per differing site, the coupling
of split Gibbs sampling), so that a delta costs two reads per chain. "free" has no delta at all:
it is the cost of the kernel alone.
"""

import argparse
import functools

import torch
from common import as_in_a_run, compare, record

from jumpbench.samplers.mcmc.metropolis import single_site_metropolis
from jumpbench.targets.changes import at_site

CHAINS, STEPS = 10_000, 200
SIZES = [(10, 50), (256, 2), (1024, 129)]


def plain(delta, x, n_steps, n_states, generator):
    """The algorithm as one would write it first: random numbers per step, gather and scatter."""
    x, chains = x.clone(), len(x)
    accepted = torch.zeros(chains, dtype=torch.long, device=x.device)
    for _ in range(n_steps):
        site = torch.randint(x.shape[1], (chains,), generator=generator, device=x.device)
        token = torch.randint(n_states, (chains,), generator=generator, device=x.device)
        u = torch.rand(chains, generator=generator, device=x.device)
        accept = u.log() < delta(x, site, token).clamp(max=0)
        column = site[:, None]
        old = x.gather(1, column)[:, 0]
        x.scatter_(1, column, torch.where(accept, token.to(x.dtype), old)[:, None])
        accepted += accept
    return x, accepted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--output", default="bench_mcmc.json")
    options = parser.parse_args()
    as_in_a_run(options.threads)
    generator = torch.Generator(options.device).manual_seed(0)
    draw = functools.partial(torch.randint, generator=generator, device=options.device)
    nothing = torch.full((CHAINS,), -0.7, device=options.device)

    def free(x, site, token):
        return nothing

    results = []
    for (length, n_states), dtype in [(s, d) for s in SIZES for d in (torch.int64, torch.uint8)]:
        reference = draw(n_states, (CHAINS, length)).to(dtype)

        def tether(x, site, token, reference=reference):
            here = at_site(reference, site)
            return 1.3 * ((at_site(x, site) != here).float() - (token != here).float())

        for name, delta in (("free", free), ("tether", tether)):
            arguments = (delta, reference, STEPS, n_states, generator)
            result = compare(
                f"{name}, length {length}, {n_states} symbols, {str(dtype).split('.')[1]}",
                lambda arguments=arguments: single_site_metropolis(*arguments),
                lambda arguments=arguments: plain(*arguments),
                options.repeats,
            )
            result["chains"], result["steps"] = CHAINS, STEPS
            result["chain_steps_per_second"] = CHAINS * STEPS / result["ours_seconds"]
            results.append(result)
    record(results, options.output)


if __name__ == "__main__":
    main()
