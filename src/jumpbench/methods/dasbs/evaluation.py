"""Numbers of sampled paths: weights, effective sample size, errors against a ground truth."""

import math

from torch import Tensor

from jumpbench.methods.base import load_artifacts
from jumpbench.methods.dasbs.sampler import Paths
from jumpbench.metrics.lattice import lattice_metrics
from jumpbench.samplers.weights import effective_sample_size, log_normaliser
from jumpbench.targets.base import DiscreteTarget


def log_weight(target: DiscreteTarget, paths: Paths) -> Tensor:
    """log p*/p^u of memoryless paths, (B,): E[exp(log weight)] = Z N^-D."""
    return target.log_prob(paths.end) + paths.log_reference


def summary(
    target: DiscreteTarget, paths: Paths, memoryless: bool, ground_truth: str | None = None
) -> dict[str, Tensor | float]:
    """Metrics of sampled paths.

    Always ``jumps_per_site`` and ``invalid`` (share of site-steps that had to stay put). If
    ``memoryless`` also ``ess``, ``log_z`` and ``log_z_error``: otherwise path weights say nothing.
    With the folder of a ground-truth run, the errors of :func:`lattice_metrics`.
    """
    values: dict[str, Tensor | float] = {
        "jumps_per_site": paths.jumps.mean(),
        "invalid": paths.invalid.mean(),
    }
    if memoryless:
        weight = log_weight(target, paths)
        log_states = target.length * math.log(target.n_states)
        values["log_z"], values["log_z_error"] = log_normaliser(weight, log_states)
        values["ess"] = effective_sample_size(weight)
    if ground_truth is not None:
        truth = load_artifacts(ground_truth, paths.end.device)["samples"]
        values |= lattice_metrics(target, paths.end, truth)
    return values
