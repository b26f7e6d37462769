"""Arrays that released code computed, as tensors by name, and what "computes the same" means."""

from functools import cache
from pathlib import Path

import numpy
import torch

FOLDER = Path(__file__).parent


@cache
def _file(name):
    with numpy.load(FOLDER / f"{name}.npz", allow_pickle=False) as arrays:
        return {key: arrays[key] for key in arrays.files}


def arrays(name, prefix=""):
    """Tensors of ``name``.npz whose names begin with ``prefix``, by the rest of their names.

    Whole numbers are stored as small as they fit and come back as 64-bit ones.
    """
    tensors = {}
    for key, array in _file(name).items():
        if key.startswith(prefix):
            whole = array.dtype.kind in "iu"
            wide = array.astype(numpy.int64 if whole else array.dtype)
            tensors[key.removeprefix(prefix)] = torch.as_tensor(wide)
    assert tensors, f"nothing in {name} begins with {prefix}"
    return tensors


def with_weights(network, weights):
    """The network in evaluation mode with stored weights, not one more or less than it has.

    Counters of batch normalisation, which no output depends on, stay as they are.
    """
    counters = {k: v for k, v in network.state_dict().items() if k.endswith("num_batches_tracked")}
    network.load_state_dict(weights | counters)
    return network.eval()


def agree(ours, theirs, tolerance, relative=0.0):
    """Fail unless everywhere |ours - theirs| <= tolerance + relative |theirs|, infinities equal."""
    ours, theirs = (
        value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=torch.float64)
        for value in (ours, theirs)
    )
    torch.testing.assert_close(ours, theirs, atol=tolerance, rtol=relative, check_dtype=False)
