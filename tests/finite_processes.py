"""The processes on finite symbols that several test files share, and their generators."""

import pytest
import torch

from jumpbench.processes.masked import MaskedProcess
from jumpbench.processes.uniform import UniformProcess
from oracles import generator

F64 = torch.float64
TIGHT = {"rtol": 0, "atol": 1e-12}
PROCESSES = [UniformProcess(2), UniformProcess(5), MaskedProcess(4)]
both = pytest.mark.parametrize("process", PROCESSES, ids=["uniform2", "uniform5", "masked4"])


def generator_matrix(process):
    """Generator of one site at rate 1, row = from, written from the definition."""
    n = process.n_states
    if isinstance(process, UniformProcess):
        return torch.full((n, n), 1 / n, dtype=F64) - torch.eye(n, dtype=F64)
    matrix = torch.zeros(n, n, dtype=F64)
    matrix[:-1, -1] = 1
    matrix[:-1, :-1] -= torch.eye(n - 1, dtype=F64)
    return matrix


def clean_law(process, *batch, seed=0):
    law = torch.rand(*batch, process.n_states, dtype=F64, generator=generator(seed)) + 0.05
    if isinstance(process, MaskedProcess):
        law[..., process.mask] = 0
    return law / law.sum(-1, keepdim=True)
