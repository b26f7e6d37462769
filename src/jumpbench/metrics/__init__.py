"""How far samples are from the truth: functions of tensors."""

from jumpbench.lazy import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "frechet": "FeatureMoments frechet_distance inception_score nearest_hamming",
        "histogram": "hellinger pair_counts sampling_floor total_variation",
        "images": "psnr",
        "intrinsic_distance": "heat_trace msid neighbour_graph",
        "lattice": (
            "LatticeStatistics equal_symbol_probability lattice_metrics majority_fraction "
            "symbol_fractions"
        ),
        "paths": "jumps_per_site",
        "permutation": "inversions kendall_tau kendall_tau_rank look_alike_ceilings",
        "states": "state_metrics",
        "wasserstein": "wasserstein2",
    },
)
