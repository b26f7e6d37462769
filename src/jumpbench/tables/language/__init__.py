"""Table files: their keys, types, checks and inheritance."""
