"""From a table file and a scale to runs and their identity."""
