"""From finished runs to cells, verdicts and claims."""
