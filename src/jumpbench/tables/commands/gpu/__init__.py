"""The check of a GPU: samplers agree with the processor there, and how fast they are."""
