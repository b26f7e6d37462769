"""What is there for speed alone: files parsed once, compositions kept, values and formulas on plain
data. Their results are those of Hydra and OmegaConf on every run of every table
(tests/tables/planning/test_fast_planning.py).
"""
