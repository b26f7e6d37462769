"""Samplers: jump processes, Markov kernels, resampling, path weights, draws and their cost."""

from jumpbench.lazy import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "annealed_importance": "Annealed anneal next_power refined",
        "annealed_jumps": "KernelMoves LEFT_END TRAPEZOIDAL annealed_rollout",
        "annealed_path": "residual_generator",
        "chain": "ChainInfo Kernel",
        "clusters.swendsen_wang": "SwendsenWang",
        "clusters.wolff": "Wolff",
        "cost": "Cost Meter metered table_evaluations",
        "counts": "BinomialBridge Corrector PoissonLeap PosteriorBridge generate_counts",
        "diagnostics": "integrated_autocorrelation_time split_rhat",
        "draws": "Draws",
        "exact_paths": "gillespie uniformisation",
        "jumps": "JumpInfo JumpStep frozen leap renormalise stay",
        "leaping": "euler tau_leaping",
        "mcmc.gibbs": "BlockedGibbs RandomScanGibbs SystematicGibbs checkerboard",
        "mcmc.langevin": "DiscreteLangevin expected_changes step_size",
        "mcmc.lattice_metropolis": "LatticeMetropolis",
        "mcmc.locally_balanced": "LocallyBalanced barker square_root",
        "mcmc.metropolis": "MultiSiteMetropolis SingleSiteMetropolis",
        "mcmc.other_symbol": "OtherSymbolMetropolis",
        "parallel_tempering": "Ladder ParallelTempering tuned",
        "path_weights": "Girsanov ReferenceRatio",
        "resampling": "multinomial residual systematic",
        "unmasking": "unmask",
        "weights": "PathIntegral effective_sample_size log_mean_exp log_normaliser",
    },
)
