"""Unnormalised laws on {0..N-1}^D, and exact values of small ones."""

from jumpbench.lazy import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "base": "DiscreteTarget Target check_states check_target random_states",
        "changes": "LogProbDelta",
        "enumeration": "EnumeratedLaw all_states enumerate_law",
        "ising": "Ising",
        "kaufman": "IsingTorus ising_torus",
        "lattice": "LatticeTarget PairLattice",
        "potts": "Potts",
        "tabular": "Tabular",
        "tempered": "Tempered",
    },
)
