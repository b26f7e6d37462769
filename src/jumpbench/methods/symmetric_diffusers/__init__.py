"""SymmetricDiffusers (Zhang et al. 2025): permutations by undoing shuffles."""

from jumpbench.lazy import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "baselines.diffsort": "DiffSort",
        "baselines.gumbel_sinkhorn": "GumbelSinkhorn",
        "losses": "LabelLoss LatentLoss",
        "module": "SymmetricDiffuser",
        "sampler": "Beam Greedy Stochastic",
        "transitions": "RandomTimestep WholeTrajectories",
    },
)
