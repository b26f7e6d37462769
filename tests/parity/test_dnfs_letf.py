"""leTF against the released transformer of DNFS, on all states of four bits."""

import pytest
import torch

from jumpbench.networks.embeddings import sinusoidal_features
from jumpbench.networks.letf import LeTF
from parity.arrays import agree, arrays, with_weights

STORED = arrays("dnfs_letf")
BEFORE_PERCEPTRON = "attention.perceptron_norm."  # the norm that the perceptron's own one follows


def letf(weight, bias):
    weights = arrays("dnfs_letf", "weight.")
    weights |= {BEFORE_PERCEPTRON + "weight": weight, BEFORE_PERCEPTRON + "bias": bias}
    return with_weights(LeTF(4, 2, hidden=16, heads=2, layers=2), weights)


def test_time_features():
    agree(sinusoidal_features(STORED["t"], 256), STORED["time_features"], 1e-6)


@torch.no_grad()
def test_output_with_the_first_of_two_norms_at_its_initial_weights():
    flux = letf(torch.ones(16), torch.zeros(16))(STORED["x"], STORED["t"])
    assert STORED["output"].abs().max() > 1
    agree(flux, STORED["output"], 1e-5)


@torch.no_grad()
def test_output_with_both_norms_at_weights_of_their_own():
    flux = letf(STORED["second_norm_weight"], STORED["second_norm_bias"])(STORED["x"], STORED["t"])
    agree(flux, STORED["output_own_second_norm"], 1e-5)
    assert (STORED["output_own_second_norm"] - STORED["output"]).abs().max() > 0.1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@torch.no_grad()
def test_the_stored_network_is_locally_equivariant(dtype):
    """G(n, i | x) = -G(x_i, i | x with n at i), rows of the enumeration being numbers in binary."""
    network = letf(STORED["second_norm_weight"], STORED["second_norm_bias"]).to(dtype)
    flux = network(STORED["x"], torch.full((16,), 0.4, dtype=dtype))
    place = {tuple(x): row for row, x in enumerate(STORED["x"].tolist())}
    for x, row in place.items():
        for i in range(4):
            other = place[(*x[:i], 1 - x[i], *x[i + 1 :])]
            back = flux[other, i, x[i]]
            assert abs(flux[row, i, 1 - x[i]] + back) <= torch.finfo(dtype).eps * 64
