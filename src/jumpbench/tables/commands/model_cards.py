"""Making the card of a trained model from its run, and drawing from models to check their cards."""

import copy
import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import yaml

from jumpbench.files import write_atomic
from jumpbench.names import select
from jumpbench.tables.planning.models import Model, is_left_out, load_model, models, suite_folder

REPEATS = 8
"""Sets of draws behind a card."""

SMALLEST_P = 1e-4
"""A test that measures something less likely than this, if the card is right, fails."""


def export(
    name: str, run: str, title: str, licence: str, metrics: Sequence[str],
    changes: dict[str, Any], parts: Sequence[str] = (), root: Path | None = None,
) -> Path:  # fmt: skip
    """Card and weights of a finished run, measured as the card says.

    Args:
        run: folder, id or hash.
        licence: of the data.
        metrics: what the test measures and the card promises.
        changes: nodes ``method.KEY`` and ``data.KEY`` (or ``data``) that differ from the run's.
        parts: of the state dict that sampling needs; by default all.
        root: the folder of models, by default that of the checkout.

    Raises:
        UserError: the run has no such metric, or more is missing than its parts cover.
    """
    from safetensors.torch import save_file

    from jumpbench.tables.commands.results import load_run

    finished = load_run(run)
    parameters = {key for key, _ in finished.method.named_parameters()}
    state = {
        key: (value.half() if key in parameters else value).contiguous()
        for key, value in finished.method.state_dict().items()
        if hasattr(value, "contiguous") and not is_left_out(key)
        and (not parts or key.startswith(tuple(f"{part}." for part in parts)))
    }  # fmt: skip
    nodes = {key: copy.deepcopy(finished.config[key]) for key in ("method", "data")}
    for key, value in changes.items():
        *path, last = key.split(".")
        functools.reduce(dict.__getitem__, path, nodes)[last] = value
    target = (root or suite_folder() or Path("models")) / f"{name}.yaml"
    target.parent.mkdir(parents=True, exist_ok=True)
    weights = target.with_suffix(".safetensors")
    save_file(state, weights)
    made = finished.provenance
    machine = made["hardware"].get("gpu") or made["hardware"]["cpu"]
    card = {
        "title": title,
        "trained": {
            "run": finished.folder.name, "steps": finished.config["trainer"]["max_steps"],
            "commit": made["commit"], "machine": machine,
            "seconds": round(finished.metrics.get("run/fit_seconds", made["wall_seconds"])),
        },
        "licence": licence,
        "parameters": sum(value.numel() for key, value in state.items() if key in parameters),
        "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
        **nodes,
    }  # fmt: skip
    measured = [Model(name, card, weights).measure(seed) for seed in range(1, REPEATS + 1)]
    values = {metric: [each[metric] for each in measured] for metric in metrics}
    card["expected"] = {m: {"mean": fmean(v), "std": stdev(v)} for m, v in values.items()}
    write_atomic(target, yaml.safe_dump(card, sort_keys=False, allow_unicode=True))
    return target


def check(names: Sequence[str]) -> bool:
    """Draws from models and compares with their cards: one line a metric."""
    from scipy import stats

    known = list(models())
    chosen = select("model", ",".join(names), known) if names else known
    good = True
    for name in chosen:
        model = load_model(name)
        measured = model.measure(seed=0)
        for metric, card in model.card["expected"].items():
            # A new number beside the mean of others of the same law: Student's t.
            error = card["std"] * (1 + 1 / REPEATS) ** 0.5
            gap = measured[metric] - card["mean"]
            p = 2 * stats.t.sf(abs(gap) / error, REPEATS - 1) if error else float(gap == 0)
            good &= p >= SMALLEST_P
            word = "as expected" if p >= SMALLEST_P else "NOT as expected"
            card_says = f"{card['mean']:.4g} ± {card['std']:.2g}"
            print(f"{name}: {metric} {measured[metric]:.4g}, {word} ({card_says})")
    return good


def print_models() -> None:
    """One line a model."""
    for name in models():
        model = load_model(name)
        size = model.weights.stat().st_size / 1e6
        print(f"{name}: {model.card['title']}; {size:.1f} MB, {model.card['licence']}")
