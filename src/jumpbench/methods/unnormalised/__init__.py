"""Samplers of unnormalised laws that several papers share."""

from jumpbench.lazy import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "annealing": "AnnealedParticles",
        "base": "NetworkSampler TargetSampler",
        "chains": "Chains",
        "ground_truth": "GroundTruth",
        "leaps": "LEAPS",
        "mdns": "MDNS",
        "tempering": "TemperedChains",
    },
)
