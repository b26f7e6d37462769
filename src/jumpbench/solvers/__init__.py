"""Exact and local-search solvers of combinatorial problems."""
