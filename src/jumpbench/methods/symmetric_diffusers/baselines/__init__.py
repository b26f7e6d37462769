"""What SymmetricDiffusers is compared with: sorting networks, Sinkhorn, SEDD, tour solvers."""
