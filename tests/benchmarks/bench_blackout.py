"""Blackout's noising, sampling and network against plainer forms.

    python tests/benchmarks/bench_blackout.py [--threads 1] [--device cpu] [--output ...]

Ratios of minima, both sides alternately in one process. Wanted for noising and sampling: 12 times,
and 8 ms for 32 images. Noising reaches 8 to 12, by processor: five sixths of its time are
torch.binomial's. A bridge step is up to twice as fast as numpy's draws, which are compiled loops
too: both spend their time on 98,304 random counts, and there is no table to be rid of.

On a GPU also images per second of the published network in training, bfloat16, channels last and
compiled against float32 eager, and the share of a matrix product's speed that it reaches.
"""

import argparse
from functools import partial

import numpy as np
import torch
from common import as_in_a_run, compare, record, seconds

from jumpbench.methods.blackout.losses import finite_time, regression
from jumpbench.methods.blackout.model import LostUnits
from jumpbench.networks.ncsnpp import NCSNpp
from jumpbench.ops.binomial import binomial, thinned
from jumpbench.processes.death import PureDeath
from jumpbench.processes.observation_times import FisherTimes
from jumpbench.samplers.counts import BinomialBridge, PoissonLeap, stochastic

GRID = FisherTimes(1000, 15.0)
IMAGES = 32
NETWORK_GFLOP = 21.8  # a forward pass of one 32x32 image; training costs three


def by_tables(images: torch.Tensor, k: torch.Tensor, table: np.ndarray) -> torch.Tensor:
    """Noising by the inverse distribution function of every (time, count), gathered per pixel."""
    host = images.numpy()
    rows = table[k.numpy()[:, None], host.reshape(len(host), -1)]  # (B, pixels, 256)
    u = np.random.rand(*rows.shape[:2], 1)
    return torch.from_numpy((rows < u).sum(-1).astype(np.uint8).reshape(host.shape))


def host_bridge(x: torch.Tensor, y: torch.Tensor, r: float) -> torch.Tensor:
    """A bridge step with draws by numpy, image by image."""
    drawn = [
        np.random.binomial(np.minimum(np.rint(mean).astype(int), 255 - state), r)
        for state, mean in zip(x.cpu().numpy(), y.cpu().numpy(), strict=True)
    ]
    return torch.from_numpy((x.cpu().numpy() + np.stack(drawn)).astype(np.uint8)).to(x.device)


def distribution_table(times: list[int]) -> np.ndarray:
    """Distribution functions (T + 1, 256, 256), filled at the times that are used."""
    from scipy.stats import binom

    table = np.ones((1001, 256, 256))
    for k in set(times):
        q = float(GRID.survival[k])
        table[k] = binom.cdf(np.arange(256)[None], np.arange(256)[:, None], q)
    return table


def drawing(device: str, repeats: int) -> list[dict]:
    generator = torch.Generator(device).manual_seed(0)
    draw = partial(torch.randint, generator=generator, device=device)
    images = draw(0, 256, (IMAGES, 3, 32, 32)).byte()
    k = draw(1, 1001, (IMAGES,))
    survival, loss = (t.float().to(device)[k].view(-1, 1, 1, 1) for t in (GRID.survival, GRID.loss))
    death = PureDeath(255)
    table = distribution_table(k.tolist())
    lost = 255 - images
    mean, r = lost.float() * 0.5, float(GRID.revival()[300])
    bits = (images > 200).byte()
    bridge = BinomialBridge(death, stochastic)
    leap = PoissonLeap(death)
    pairs = {
        "noising 32 images: on the device / tables on the host": (
            lambda: death.observed(images, survival, loss, generator),
            lambda: by_tables(images.cpu(), k.cpu(), table).to(device),
        ),
        "a bridge step of 32 images: on the device / numpy": (
            lambda: bridge(images, lambda x, k: mean, 300, r, generator),
            lambda: host_bridge(images, mean, r),
        ),
        "a Poisson step of 32 images / a bridge step": (
            lambda: leap(images, lambda x, k: mean, 300, r, generator),
            lambda: bridge(images, lambda x, k: mean, 300, r, generator),
        ),
        "binomial draws, counts to 255, r = 0.03: ours / torch.binomial": (
            lambda: binomial(lost, r, generator, 255),
            lambda: torch.binomial(lost.float(), torch.full_like(mean, r), generator=generator),
        ),
        "thinning of bits / torch.binomial": (
            lambda: thinned(bits, r, generator),
            lambda: torch.binomial(bits.float(), torch.full_like(mean, r), generator=generator),
        ),
    }
    return [compare(name, *sides, repeats) for name, sides in pairs.items()]


def sampler_share(device: str, repeats: int) -> list[dict]:
    """What a step costs outside the network, as a share of the step; the small networks."""
    generator = torch.Generator(device).manual_seed(0)
    results = []
    r = float(GRID.revival()[300])
    for maximum, channels in ((1, 1), (255, 3)):
        network = NCSNpp(channels, 16, 16, (1, 2, 2), 1, (8,))
        model = LostUnits(network, GRID, maximum).to(device).eval()
        x = torch.zeros(100, channels, 16, 16, dtype=torch.uint8, device=device)
        with torch.no_grad():
            y = torch.full(x.shape, maximum / 2, device=device)
            inside = min(seconds(partial(model.at, x, 300)) for _ in range(repeats))

            def known(x: torch.Tensor, k: int, y: torch.Tensor = y) -> torch.Tensor:
                return y

            process = PureDeath(maximum)
            for name, step in (
                ("bridge", BinomialBridge(process, stochastic)), ("Poisson", PoissonLeap(process)),
            ):  # fmt: skip
                work = partial(step, x, known, 300, r, generator)
                outside = min(seconds(work) for _ in range(5 * repeats))
                share = outside / (outside + inside)
                name = f"share of a step outside the network, {name}, M = {maximum}"
                results.append({"name": name, "share": share})
                print(f"{name}: {share:.3f}")
    return results


def training(repeats: int) -> list[dict]:
    """The published network on a GPU."""
    images = torch.randint(0, 256, (128, 3, 32, 32), device="cuda").byte()
    process, weight = PureDeath(255), finite_time(GRID).float().cuda()
    survival, loss = GRID.survival.float().cuda(), GRID.loss.float().cuda()

    def stepper(fast: bool):
        model = LostUnits(NCSNpp(channels_last=fast), GRID, 255).cuda()
        if fast:
            model.network.compile()
        optimizer = torch.optim.Adam(model.parameters(), lr=2e-4, fused=True)

        def step() -> None:
            k = torch.randint(1, 1001, (len(images),), device="cuda")
            q, gone = (t[k].view(-1, 1, 1, 1) for t in (survival, loss))
            x = process.observed(images, q, gone)
            with torch.autocast("cuda", torch.bfloat16, enabled=fast):
                z = model.raw(x, k)
            (1000 * weight[k] * regression(z, images - x)).mean().backward()
            optimizer.step()
            optimizer.zero_grad()

        return step

    result = compare(
        "a training step: bfloat16, channels last, compiled / float32", stepper(True),
        stepper(False), repeats,
    )  # fmt: skip
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    product = min(seconds(lambda: a @ a) for _ in range(repeats))
    peak = 2 * 8192**3 / product
    reached = 3 * NETWORK_GFLOP * 1e9 * len(images) / result["ours_seconds"]
    result |= {"images_per_second": len(images) / result["ours_seconds"]}
    result |= {"share_of_matrix_product": reached / peak}
    return [result]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", default="bench_blackout.json")
    options = parser.parse_args()
    as_in_a_run(options.threads)
    results = drawing(options.device, options.repeats)
    results += sampler_share(options.device, options.repeats)
    if options.device == "cuda":
        results += training(options.repeats)
    record(results, options.output)


if __name__ == "__main__":
    main()
