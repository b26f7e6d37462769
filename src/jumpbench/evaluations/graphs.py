"""Sizes of solutions on graphs, against the optimum of the same graphs."""

from typing import Any

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.evaluations.base import Evaluation
from jumpbench.methods.base import load_artifacts
from jumpbench.samplers.draws import Draws
from jumpbench.targets.graphs import GraphLaw, Graphs
