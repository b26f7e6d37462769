"""Every network is compiled whole on a fake GPU, as a run of the smoke scale first calls it.

``torch.compile`` is asked for one graph (``fullgraph=True``), traced with gradients, from which
AOTAutograd makes the graph of operators that code is generated from. The graph of the backward pass
needs a device: it is made on the CPU (long). No code is generated.
"""

import copy
import re
from dataclasses import is_dataclass
from functools import partial
from unittest import mock

import pytest
import torch
from torch import Tensor, nn
from torch._functorch.aot_autograd import aot_module_simplified, make_boxed_func
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_leaves, tree_map

from jumpbench.errors import DataMissing
from jumpbench.networks.count_perceptron import CountPerceptron
from jumpbench.networks.free_energy import FreeEnergy
from jumpbench.networks.object_encoders import IntegerEncoder, NumberEncoder, PointFeatures
from jumpbench.networks.object_scores import number_convolutions, piece_convolutions
from jumpbench.paths import conf_dirs
from jumpbench.tables.commands.gpu.agreement import first_calls
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.price import passes
from jumpbench.tables.price import trace as tracing


def smoke(table, row, *needed, column=None, scale="smoke"):
    """A run of a row: the first, or one that it needs."""
    cells = build(load(table), Selection(scale, "1", row, column))
    run = next(cell for cell in cells if cell.asked).runs[0]
    for name in needed:
        run = run.needs[name]
    return run


ISING = ("target.size=4", "network=lattice_transformer_4", "network.controller.blocks=1")
OURS = "SymmetricDiffusers (ours)"
RUNS = {
    "NCSNpp": partial(smoke, "blackout/mnist", "Finite-time loss, Poisson", "trained"),
    "ImageClassifier": partial(smoke, "blackout/mnist", "Real images", "classifier"),
    "StatePerceptron": partial(smoke, "dasbs/table2", "DASBS"),
    "LatticeController, LatticeCorrector": partial(plan_run, "dasbs/ising", ISING),
    "LocallyEquivariantPerceptron": partial(smoke, "dasbs/table2", "LEAPS"),
    "LocallyEquivariantConvolution": partial(smoke, "dnfs/conf_table2", "LEAPS"),
    "LeTF, BitEnergy": partial(smoke, "dnfs/table2", "EB-DNFS"),
    "LeConv": partial(smoke, "dnfs/figure3", "leConv"),
    "LeAttn": partial(smoke, "dnfs/figure3", "leAttn"),
    "LeMLP": partial(smoke, "dnfs/figure3", "leMLP"),
    "LeGF": partial(smoke, "dnfs/table1", "DNFS"),
    "GraphIsomorphism": partial(smoke, "dnfs/table1", "GFlowNet"),
    "CouplingEnergy": partial(smoke, "dnfs/table4", "ED-Bern (here)"),
    "ScoreConvolution": partial(smoke, "sgdd/figure3", "SGDD", "prior"),
    "DigitClassifier": partial(smoke, "sgdd/figure3", "SGDD", "classifier"),
    "SequenceConvolution, SequenceRegressor": partial(smoke, "sgdd/table3", "SGDD (beta=30)"),
    "VqAutoencoder": partial(smoke, "sgdd/table8", "SGDD", "vq"),
    "PerObject": partial(smoke, "symmetric_diffusers/table1", "Gumbel-Sinkhorn Network"),
    "ObjectScores": partial(smoke, "symmetric_diffusers/table2", "DiffSort"),
    "PieceEncoder": partial(smoke, "symmetric_diffusers/table1", OURS),
    "ScalarEncoder": partial(smoke, "symmetric_diffusers/table3", "n=52", column="RS: PL + greedy"),
    "TourTransformer": partial(smoke, "symmetric_diffusers/table4", OURS),
    "ScoreTransformer": partial(smoke, "symmetric_diffusers/table5", "SEDD"),
}
COMPILED = {  # by the tables, in bfloat16, at the paper's sizes
    "Blackout": ("blackout/table1", "Instantaneous loss, Binomial: samples", "trained"),
    "DASBS": ("dasbs/table2", "DASBS"),
    "LEAPS": ("dasbs/table2", "LEAPS"),
    "pieces": ("symmetric_diffusers/table1", OURS),
    "scalars": ("symmetric_diffusers/table3", "n=52"),
    "lists": ("symmetric_diffusers/table5", OURS),
}
GIVEN = {  # what no run of the smoke scale has
    "number_convolutions": (number_convolutions(8), torch.zeros(2, 3, 1, 28, 112)),
    "CountPerceptron": (CountPerceptron((5,), 8), torch.zeros(3, 5), torch.zeros(3).long()),
    "FreeEnergy": (FreeEnergy(8), torch.zeros(3)),
    "piece_convolutions": (piece_convolutions(28, 2), torch.zeros(2, 4, 1, 14, 14)),
    "IntegerEncoder": (IntegerEncoder(3, 8), torch.zeros(2, 3).long()),
    "PointFeatures": (PointFeatures(8), torch.zeros(2, 3, 2)),
    "NumberEncoder": (NumberEncoder(16), torch.zeros(2, 3, 1, 28, 112)),
}


def calls_of(run):
    config = run.placed()
    with first_calls() as calls, mock.patch.object(tracing, "PLACES", (0.0,)):
        passes.count({**config, "stages": config["stages"][:1]}, seconds=100.0)
    parts = {part for network in calls for part in network.modules() if part is not network}
    return {network: given for network, given in calls.items() if network not in parts}


def trace(network, args, kwargs, device="cuda", half=False):
    """Compile a call, as far as the graph of its operators; raises where the graph breaks."""
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        with torch.set_grad_enabled(device == "cpu"):
            aot_module_simplified(graph, inputs, lambda made, _: make_boxed_func(made.forward))
        return graph.forward

    def there(x):
        if isinstance(x, Tensor):
            made = torch.empty(x.shape, dtype=x.dtype, device=device)
            return made.requires_grad_(x.requires_grad)
        return type(x)(*map(there, vars(x).values())) if is_dataclass(x) else x

    network = copy.deepcopy(network)
    torch.compiler.reset()
    autocast = torch.autocast(device, torch.bfloat16, enabled=half)
    with FakeTensorMode(allow_non_fake_inputs=True), autocast:
        network._apply(lambda x: torch.empty_like(x, device=device))
        args, kwargs = tree_map(there, (args, kwargs))
        out = torch.compile(network, backend=backend, fullgraph=True)(*args, **kwargs)
    assert len(graphs) == 1 and all(x.device.type == device for x in tree_leaves(out))


@pytest.fixture(autouse=True)
def no_device(monkeypatch):
    monkeypatch.setattr("torch.cuda.amp.common.amp_definitely_not_available", lambda: False)
    monkeypatch.setattr("torch.cuda.is_bf16_supported", lambda *_: True)
    # Asked at every operation, and each time it looks for a driver.
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    yield
    torch.__future__.set_overwrite_module_params_on_conversion(False)
    torch.compiler.reset()


LONG = ("VqAutoencoder", "PieceEncoder", "TourTransformer", "ScoreConvolution", "LeMLP")
SHORTER = [pytest.param(n, marks=pytest.mark.long) if n in LONG else n for n in RUNS]


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORTER)
def test_networks_are_compiled_whole(name):
    calls = calls_of(RUNS[name]())
    assert calls
    for network, (args, kwargs) in calls.items():
        trace(network, args, kwargs)


@pytest.mark.slow
@pytest.mark.parametrize("name", GIVEN)
def test_other_networks_are_compiled_whole(name):
    network, *args = GIVEN[name]
    trace(network, args, {})


def test_every_network_that_is_configured_is_here():
    """And whatever else is a network of the package is a part of these."""
    named = re.compile(r"jumpbench\.networks\.\w+\.(\w+)")
    configured = {
        n for file in conf_dirs()[-1].rglob("*.yaml") for n in named.findall(file.read_text())
    }
    traced = {n for run in RUNS.values() for n in named.findall(str(run().config["method"]))}
    assert len(configured) > 20
    assert configured <= traced | {"PerObject", *GIVEN}


def test_a_break_in_the_graph_is_found():
    class Asks(nn.Linear):
        def forward(self, x):
            return super().forward(x) if torch._dynamo.graph_break() is None else x

    with pytest.raises(torch._dynamo.exc.Unsupported, match="graph_break"):
        trace(Asks(2, 2), [torch.zeros(3, 2)], {})


@pytest.mark.long
@pytest.mark.parametrize("name", COMPILED)
def test_what_tables_compile_is_compiled_whole_in_bfloat16(name):
    run = smoke(*COMPILED[name], scale="paper")
    settings = run.config["method"]
    assert settings.get("compile") or name == "LEAPS"
    try:
        calls = calls_of(run)
    except DataMissing as why:
        pytest.skip(str(why))
    for network, (args, kwargs) in calls.items():
        trace(network, args, kwargs, half="bf16" in run.config["trainer"]["precision"])


@pytest.mark.long
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_backward_passes_are_traced(run):
    for network, (args, kwargs) in calls_of(run()).items():
        trace(network, args, kwargs, "cpu")
