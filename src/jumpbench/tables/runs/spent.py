"""What a run has spent as a whole, with the runs that it needs: seconds and evaluations."""

from collections.abc import Iterable, Mapping
from typing import Any

FIT = ("seconds", "energy_evaluations", "network_evaluations")


def spent(metrics: Mapping[str, Any], needed: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Totals of a run, to be added to its ``metrics``; ``needed`` are those of the runs it needs.

    - ``run/trained_seconds``, ``..._energy_evaluations``, ``..._network_evaluations``: of this
      training and of every run that it needs: a warm start's hotter one, a prior, a judge;
    - ``run/seconds``, ``run/energy_evaluations``, ``run/network_evaluations``: with the samples;
    - ``run/setup_seconds``: before the first sample that counts, which is the training, or the
      burn-in or pilot of a chain (``setup_seconds``).
    """
    values: dict[str, float] = {}
    n = float(metrics.get("n_samples", 0.0))
    for name in FIT:
        trained = float(metrics.get(f"run/fit_{name}", 0.0)) + sum(
            float(of.get(f"run/trained_{name}", of.get(f"run/fit_{name}", 0.0))) for of in needed
        )
        of_sample = float(metrics.get("sample_seconds" if name == "seconds" else name, 0.0))
        values[f"run/trained_{name}"] = trained
        values[f"run/{name}"] = trained + n * of_sample
    setup = float(metrics.get("setup_seconds", 0.0))
    return values | {"run/setup_seconds": values["run/trained_seconds"] + setup}
