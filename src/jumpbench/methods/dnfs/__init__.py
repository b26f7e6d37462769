"""Discrete Neural Flow Samplers (Ou et al. 2025): rates that carry the uniform law along a path."""

from jumpbench.lazy import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "baselines.energy_models": "EnergyModel",
        "baselines.gflownet": "TrajectoryBalance",
        "energy_training": "EnergyDNFS",
        "graphs": "GraphDNFS",
        "module": "DNFS",
    },
)
