"""NCSN++ against score_sde's, all of its layers with random weights, on counts of three sizes."""

from functools import cache

import torch

from jumpbench.networks.ncsnpp import NCSNpp, time_features
from parity.arrays import agree, arrays, with_weights

STORED = arrays("ncsnpp")
NEARLY_CONSTANT = 0  # the first picture's values are of size 1e-3


@cache
def network(dtype):
    model = NCSNpp(channels=3, size=16, width=8, multipliers=(1, 2), blocks=1, attention=(8,))
    model = with_weights(model, arrays("ncsnpp", "weight.")).to(dtype)
    # In the released code, too, the features alone are of single precision.
    model.time1.register_forward_pre_hook(lambda layer, inputs: inputs[0].to(dtype))
    return model


def test_number_of_parameters():
    assert sum(p.numel() for p in network(torch.float32).parameters()) == 48_499


def test_time_features_are_sines_then_cosines():
    agree(time_features(STORED["index"], 8), STORED["time_features"], 1e-6)


@torch.no_grad()
def test_output_in_single_precision():
    output, theirs = network(torch.float32)(STORED["x"], STORED["index"]), STORED["output"]
    rest = slice(NEARLY_CONSTANT + 1, None)
    agree(output[rest], theirs[rest], 5e-6)
    # Its group norms divide by a spread of 1e-3 and so enlarge the rounding before them.
    agree(output[NEARLY_CONSTANT], theirs[NEARLY_CONSTANT], 5e-5)


def test_output_and_its_gradient_in_double_precision():
    x = STORED["x"].double().requires_grad_()
    output = network(torch.float64)(x, STORED["index"])
    agree(output, STORED["output64"], 1e-11)
    (gradient,) = torch.autograd.grad((STORED["probe"] * output).sum(), x)
    agree(gradient, STORED["input_gradient64"], 1e-11)
