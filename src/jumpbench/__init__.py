"""Discrete-state generative modelling and sampling: five papers, every table, one command each."""

__version__ = "0.1.0"
