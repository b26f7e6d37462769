"""Card shuffles: random walks on S_n that forget the order of a list."""

from jumpbench.processes.shuffles.base import Shuffle
from jumpbench.processes.shuffles.insertion import RandomInsertion
from jumpbench.processes.shuffles.riffle import Riffle
from jumpbench.processes.shuffles.schedule import choose_schedule, choose_steps
from jumpbench.processes.shuffles.total_variation import eulerian, tv_between, tv_to_uniform
from jumpbench.processes.shuffles.transposition import RandomTransposition

__all__ = [
    "RandomInsertion",
    "RandomTransposition",
    "Riffle",
    "Shuffle",
    "choose_schedule",
    "choose_steps",
    "eulerian",
    "tv_between",
    "tv_to_uniform",
]
