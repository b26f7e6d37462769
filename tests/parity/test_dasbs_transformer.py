"""DASBS's rotary transformers, with time and without, against the released ones."""

import pytest
import torch

from jumpbench.networks.embeddings import lattice_position_table, sinusoidal_features
from jumpbench.networks.lattice_transformer import LatticeController, LatticeCorrector
from parity.arrays import agree, arrays, with_weights

STORED = arrays("dasbs_transformer")
SIZES = {"hidden": 16, "heads": 2, "blocks": 2}
NETWORKS = {"controller": LatticeController, "corrector": LatticeCorrector}


@pytest.fixture(autouse=True, params=["fused", "plain"])
def path_through_the_blocks(request, monkeypatch):
    """Formulas with gradients by hand, or the plain ones."""
    if request.param == "plain":
        monkeypatch.setattr("jumpbench.networks.lattice_transformer.pays", lambda z: False)


def network(name):
    weights = arrays("dasbs_transformer", f"{name}.weight.")
    return with_weights(NETWORKS[name](9, 4, **SIZES), weights)


def test_position_table():
    agree(lattice_position_table(3, 3, 16), STORED["position_table"], 1e-6)


def test_time_features():
    agree(sinusoidal_features(1000 * STORED["t"], 256), STORED["time_features"], 2e-4)


@torch.no_grad()
def test_controller():
    """Its features of 1000 t have angles up to 1000, of which float32 keeps 6e-5."""
    agree(network("controller")(STORED["x"], STORED["t"]), STORED["controller.output"], 2e-5)


@torch.no_grad()
def test_corrector():
    agree(network("corrector")(STORED["x"]), STORED["corrector.output"], 2e-6)
