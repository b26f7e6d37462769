"""Cluster moves for Ising and Potts models on the periodic square lattice."""
