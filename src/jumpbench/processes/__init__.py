"""Forward and reference Markov processes with exact kernels, and their noise schedules."""

from jumpbench.lazy import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "base": "SiteProcess",
        "birth_death": "Ehrenfest ImmigrationDeath",
        "counts": "CountProcess",
        "death": "PureDeath",
        "finite": "FiniteProcess",
        "masked": "MaskedProcess",
        "observation_times": "FisherTimes ObservationTimes UniformTimes",
        "process": "Process",
        "schedules": "Constant Geometric LogLinear ModifiedLogLinear Schedule",
        "score_entropy": "denoising_score_entropy",
        "shuffles": "RandomInsertion RandomTransposition Riffle Shuffle choose_schedule",
        "uniform": "UniformProcess",
    },
)
