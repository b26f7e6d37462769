"""Claims with one check, and numbers of seeds with a given mean and standard error."""

import json
import math
from statistics import stdev

from pydantic import TypeAdapter

from jumpbench.tables.judging.cells import Value
from jumpbench.tables.language.checks import Check
from jumpbench.tables.language.types import Claim

CHECK = TypeAdapter(Check)
EVERYWHERE = dict.fromkeys(("small", "medium", "paper"), "a test")
SEEDS = 64


def claim_of(check, scales=EVERYWHERE):
    return Claim("c", "text", CHECK.validate_json(json.dumps(check)), scales=scales)


def of_seeds(value, error, number):
    """64 numbers of this mean and standard error; those of another ``number`` are uncorrelated."""
    wave = [math.cos(math.pi * (number + 1) * (2 * k + 1) / (2 * SEEDS)) for k in range(SEEDS)]
    size = error * math.sqrt(SEEDS) / stdev(wave)
    return [Value(k, value + size * height, f"{number}/{k}") for k, height in enumerate(wave)]


def finish(run, **metrics):
    """As if the run had measured these."""
    run.folder.mkdir(parents=True, exist_ok=True)
    (run.folder / "metrics.json").write_text(json.dumps({"metrics": metrics, "seed": run.seed}))
