"""Shuffles, likelihoods, sampling and beams against the same work written plainly.

    python tests/benchmarks/bench_permutations.py [--threads 2] [--device cpu] [--full-memory]
                                                  [--only NAME] [--output bench.json]

64 lists of 100 objects, float32. The plain beam materialises prefixes and is timed once;
``--full-memory`` runs a beam of 200 over 1,280 lists and reports the peak memory.
"""

import argparse
import math
import resource
import time
from functools import partial

import torch
from common import as_in_a_run, compare, record

from jumpbench.methods.symmetric_diffusers.distributions import (
    GeneralisedPlackettLuce,
    PlackettLuce,
)
from jumpbench.processes.permutations import random_permutations
from jumpbench.processes.shuffles import Riffle

LISTS, N, WIDTH = 64, 100, 200


def sorted_riffles(steps, generator):
    """Two sorts a step: of n uniforms, and of the fractional parts of twice the sorted ones."""
    device = generator.device
    state = torch.arange(N, device=device).expand(LISTS, N)
    states = [state]
    for _ in range(steps):
        x = torch.rand(LISTS, N, generator=generator, device=device).sort(-1).values
        state = state.gather(-1, (2 * x).frac().argsort(-1))
        states.append(state)
    return torch.stack(states)


def masked_log_prob(scores, sigma):
    """The full n x n matrix: columns gathered, triangle masked, logsumexp."""
    n = sigma.shape[-1]
    matrix = scores.gather(2, sigma[:, None].expand(-1, n, n))
    used = torch.ones(n, n, dtype=torch.bool, device=sigma.device).tril(-1)
    matrix = matrix.masked_fill(used, -math.inf)
    return (matrix.diagonal(dim1=1, dim2=2) - matrix.logsumexp(-1)).sum(-1)


def gumbel_sample(scores, generator):
    """Noise for the whole matrix, then a growing list of used columns."""
    u = torch.rand(scores.shape, generator=generator, device=scores.device)
    noisy = scores - torch.log(-torch.log(u))
    chosen = torch.empty(len(scores), 0, dtype=torch.long, device=scores.device)
    for i in range(scores.shape[-1]):
        row = noisy[:, i].scatter(1, chosen, -math.inf)
        chosen = torch.cat([chosen, row.argmax(-1, keepdim=True)], 1)
    return chosen


def prefix_beam(scores, width):
    """Every hypothesis as a prefix that is copied in every row."""
    lists, n, _ = scores.shape
    prefixes = torch.empty(lists, 1, 0, dtype=torch.long, device=scores.device)
    totals = scores.new_zeros(lists, 1)
    for i in range(n):
        log_p = scores[:, i, None].expand(-1, prefixes.shape[1], n).clone()
        log_p = log_p.scatter(2, prefixes, -math.inf).log_softmax(-1)
        best, columns = log_p.topk(min(width, n), dim=-1)
        extended = torch.cat(
            [
                prefixes.unsqueeze(2).expand(-1, -1, columns.shape[-1], -1),
                columns.unsqueeze(-1),
            ],
            -1,
        ).flatten(1, 2)
        joint = (totals.unsqueeze(-1) + best).flatten(1)
        totals, index = joint.topk(min(width, math.perm(n, i + 1)), dim=1)
        prefixes = extended.gather(1, index.unsqueeze(-1).expand(-1, -1, i + 1))
    return prefixes, totals


def cases(device: str, repeats: int) -> list[tuple]:
    """Arguments of ``compare``: name, ours, other, repeats."""
    generator = torch.Generator(device).manual_seed(0)
    deck = Riffle(N)
    matrix = 3 * torch.randn(LISTS, N, N, generator=generator, device=device)
    scores = matrix[:, 0].contiguous()
    rows = scores[:, None].expand(LISTS, N, N).contiguous()
    sigma = random_permutations(LISTS, n=N, generator=generator)
    law, plackett_luce = GeneralisedPlackettLuce(matrix), PlackettLuce(scores)
    trained = matrix.clone().requires_grad_()

    def slope(log_prob):
        trained.grad = None
        log_prob().sum().backward()

    return [
        (
            "15 riffles, all states",
            lambda: deck.trajectory(LISTS, times=range(16), generator=generator),
            lambda: sorted_riffles(15, generator),
            repeats,
        ),
        (
            "schedule 0, 8, 10, 15",
            lambda: deck.trajectory(LISTS, times=[0, 8, 10, 15], generator=generator),
            lambda: sorted_riffles(15, generator),
            repeats,
        ),
        (
            "GPL log-likelihood",
            lambda: law.log_prob(sigma),
            lambda: masked_log_prob(matrix, sigma),
            repeats,
        ),
        (
            "GPL log-likelihood with gradient",
            lambda: slope(lambda: GeneralisedPlackettLuce(trained).log_prob(sigma)),
            lambda: slope(lambda: masked_log_prob(trained, sigma)),
            repeats,
        ),
        (
            "PL log-likelihood",
            lambda: plackett_luce.log_prob(sigma),
            lambda: masked_log_prob(rows, sigma),
            repeats,
        ),
        (
            "GPL sampling",
            lambda: law.sample(generator),
            lambda: gumbel_sample(matrix, generator),
            repeats,
        ),
        (f"GPL beam of {WIDTH}", lambda: law.beam(WIDTH), lambda: prefix_beam(matrix, WIDTH), 1),
    ]


def full_memory(device: str) -> dict[str, object]:
    """A beam over 1,280 lists: the seconds and the process's peak memory."""
    generator = torch.Generator(device).manual_seed(0)
    many = 3 * torch.randn(20 * LISTS, N, N, generator=generator, device=device)
    start = time.perf_counter()
    GeneralisedPlackettLuce(many).beam(WIDTH)
    result = {
        "name": f"GPL beam of {WIDTH}, {len(many)} lists",
        "seconds": time.perf_counter() - start,
        "process_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    print(result)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--full-memory", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--output", default="bench_permutations.json")
    options = parser.parse_args()
    as_in_a_run(options.threads)
    work = {}
    if options.full_memory:  # first, as the peak is that of the process
        work["full memory"] = partial(full_memory, options.device)
    work |= {case[0]: partial(compare, *case) for case in cases(options.device, options.repeats)}
    if options.only and options.only not in work:
        parser.error(f"--only is one of: {', '.join(work)}")
    names = [options.only] if options.only else list(work)
    record([work[name]() for name in names], options.output)


if __name__ == "__main__":
    main()
