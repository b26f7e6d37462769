"""Unnormalised laws on {0..N-1}^D, and exact values of small ones."""

from jumpbench.lazy import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "base": "DiscreteTarget Target check_states check_target random_states",
        "boltzmann": "BoltzmannMachine SpinGlass hard_core random_machine",
        "changes": "LogProbDelta",
        "energy_network": "EnergyNetwork TaylorRatios",
        "enumeration": "EnumeratedLaw all_states enumerate_law",
        "graphs": "Cuts GraphLaw Graphs IndependentSets",
        "gray_coded": "GrayCode",
        "ising": "Ising",
        "kaufman": "IsingTorus ising_torus",
        "lattice": "LatticeTarget PairLattice",
        "potts": "Potts",
        "tabular": "Tabular",
        "tempered": "Tempered",
        "torus_rows": "TorusRows",
    },
)
