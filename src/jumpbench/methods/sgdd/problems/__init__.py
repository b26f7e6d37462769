"""What SGDD is tried on: problems that make a likelihood of a batch."""
