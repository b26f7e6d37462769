"""What is there for speed alone: files parsed once, compositions kept, values and formulas on plain
data. Their results are those of Hydra and OmegaConf (tests/tables/planning/test_fast.py).
"""
