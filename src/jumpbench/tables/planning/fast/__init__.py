"""What is there for speed alone: files parsed once, compositions kept, values and formulas on plain
data. Their results are those of Hydra and OmegaConf (tests/tables/test_formulas.py and
test_composition_cache.py).
"""
