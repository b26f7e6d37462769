"""The composed configurations of the paper scale are the printed settings (Tables 8 to 12)."""

import inspect
from pathlib import Path

import pytest
import torch
import yaml
from hydra.utils import instantiate
from torch import nn

from jumpbench.methods.common.averaging import RampedWeightAveraging
from jumpbench.methods.symmetric_diffusers.baselines.gumbel_sinkhorn import GumbelSinkhorn
from jumpbench.networks.object_scores import piece_rows
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import build, unique_runs
from jumpbench.tables.planning.selection import Selection

FACTS = Path(__file__).parents[2] / "facts" / "symmetric_diffusers.yaml"
OURS = "SymmetricDiffusers (ours)"
LENGTHS = [3, 5, 7, 9, 15, 32, 52, 100, 200]


@pytest.fixture(scope="module")
def settings():
    """(table, row, column) -> printed setting."""
    tables = yaml.safe_load(FACTS.read_text())["tables"]
    return {
        (table["id"], cell["row"], cell["column"]): cell["value"]
        for table in tables
        if table["id"] in {f"table{i}" for i in range(8, 13)}
        for cell in table["cells"]
    }


def config(table, row, column):
    """The one configuration of a row and column at the paper scale."""
    selection = Selection(scale="paper", seeds="[0]", rows=row, columns=column)
    (run,) = unique_runs(build(load(f"symmetric_diffusers/{table}"), selection))
    return run.whole


def network(settings):
    with torch.device("meta"):
        return instantiate(settings["network"], _convert_="all")


def check_transformer(net, settings, table):
    def printed(name):
        return settings[table, "Transformer encoder", name]

    layer = net.layers[0]
    assert len(net.layers) == printed("layers")
    assert layer.self_attn.num_heads == printed("heads")
    assert layer.self_attn.embed_dim == printed("model dim")
    assert layer.linear1.out_features == printed("feed-forward dim")
    assert layer.dropout.p == layer.self_attn.dropout == printed("dropout")
    assert not layer.norm_first


def check_training(method, warmup):
    """AdamW and Noam of Appendix G.5, for all but n = 200 and the tours."""
    optimizer = instantiate(method["optimizer"])([nn.Parameter(torch.zeros(1))])
    (group,) = optimizer.param_groups
    assert (group["betas"], group["eps"], group["weight_decay"]) == ((0.9, 0.98), 1e-9, 0.01)
    assert method["scheduler"]["warmup"] == warmup and method["scheduler"]["dim"] == 128
    assert method["family"]["_target_"].endswith(".GeneralisedPlackettLuce")
    assert method["transitions"]["count"] == 3


def check_convolution(conv, settings, table, name):
    assert conv.out_channels == settings[table, name, "out channels"]
    assert conv.kernel_size == (settings[table, name, "kernel size"],) * 2
    assert conv.padding == (settings[table, name, "padding"],) * 2
    assert conv.stride == (settings[table, name, "stride"],) * 2


@pytest.mark.parametrize("pieces", [2, 3, 4, 5, 6])
def test_jigsaw_network_and_schedule(settings, pieces):
    composed = config("table1", OURS, f"Noisy MNIST {pieces}x{pieces}")
    printed = settings["table9", f"{pieces}x{pieces}", "schedule"]
    assert composed["method"]["schedule"] == yaml.safe_load(printed)
    net = network(composed)
    conv, norm, pool, relu, flatten = net.encoder.convolutions
    check_convolution(conv, settings, "table8", "Convolution")
    kinds = [nn.BatchNorm2d, nn.ReLU, nn.MaxPool2d, nn.Flatten]
    assert [type(m) for m in (norm, relu, pool, flatten)] == kinds
    assert pool.kernel_size == settings["table8", "Max-pooling", "pool"]
    first, _, second = net.encoder.head
    flat = 32 * (28 // pieces // 2) ** 2
    assert first.in_features == flat and first.out_features == (flat + 128) // 2
    assert second.out_features == settings["table8", "Fully-connected 2", "out dim"]
    check_transformer(net, settings, "table8")
    check_training(composed["method"], warmup=51600)


@pytest.mark.parametrize("pieces", [2, 3])
def test_training_on_cifar10(pieces):
    composed = config("table1", OURS, f"CIFAR-10 {pieces}x{pieces}")
    check_training(composed["method"], warmup=46000)
    assert composed["trainer"]["max_steps"] == 93840


@pytest.mark.parametrize("n", LENGTHS)
def test_sorting_network_and_schedule(settings, n):
    composed = config("table2", OURS, f"n={n}")
    method = composed["method"]
    assert method["schedule"] == yaml.safe_load(settings["table11", f"n={n}", "schedule"])
    net = network(composed)
    first, second = (m for m in net.encoder.convolutions if isinstance(m, nn.Conv2d))
    check_convolution(first, settings, "table10", "Convolution 1")
    check_convolution(second, settings, "table10", "Convolution 2")
    pools = [m.kernel_size for m in net.encoder.convolutions if isinstance(m, nn.MaxPool2d)]
    assert pools == [settings["table10", f"Max-pooling {i}", "pool"] for i in (1, 2)]
    if n == 200:
        assert (net.dim, len(net.layers), net.layers[0].self_attn.num_heads) == (768, 12, 12)
        assert (
            composed["data"]["train_batch_size"] * composed["trainer"]["max_steps"] == 256 * 28200
        )
        assert method["scheduler"]["peak"] == 5e-5 and method["scheduler"]["warmup"] == 2350
        assert method["optimizer"]["weight_decay"] == 1e-4 and "betas" not in method["optimizer"]
        assert method["family"]["_target_"].endswith(".PlackettLuce")
        assert method["transitions"]["_target_"].endswith(".RandomTimestep")
        return
    # One linear layer, as the code has it; the printed two are an option (81.8 million).
    assert net.encoder.head.out_features == settings["table10", "Fully-connected 2", "out dim"]
    check_transformer(net, settings, "table10")
    check_training(method, warmup=51600)
    assert composed["trainer"]["max_steps"] == 112560 and composed["data"]["train_batch_size"] == 64
    assert composed["trainer"]["gradient_clip_val"] == 1.0
    assert method["decoders"]["beam"]["inner"] == 200
    assert method["decoders"]["beam"]["outer"] == 20


def test_tours():
    for n, beam, batch, steps in ((20, 256, 512, 147700), (50, 768, 256, 1476750)):
        composed = config("table4", OURS, f"TSP-{n}")
        assert composed["method"]["decoders"]["beam"]["inner"] == beam
        assert composed["data"]["train_batch_size"] == batch
        assert composed["trainer"]["max_steps"] == composed["method"]["scheduler"]["steps"] == steps
        assert composed["method"]["scheduler"]["peak"] == 2e-4
        assert composed["method"]["optimizer"]["weight_decay"] == 1e-4
        assert sum(p.numel() for p in network(composed).parameters()) == 12_767_744


def test_sedd_averages_as_its_authors_do():
    composed = config("table5", "SEDD", "arbitrary n=100")
    (average,) = instantiate(composed["trainer"]["callbacks"])
    assert isinstance(average, RampedWeightAveraging) and average.decay == 0.9999
    assert composed["method"]["optimizer"]["weight_decay"] == 0


def default(target, settings, name):
    """A setting as written, or the default of what is instantiated."""
    return settings.get(name, inspect.signature(target).parameters[name].default)


def test_gumbel_sinkhorn_is_a_point_of_the_grid(settings):
    composed = config("table1", "Gumbel-Sinkhorn Network", "Noisy MNIST 2x2")
    method, net = composed["method"], composed["network"]
    chosen = {
        "learning rate": method["optimizer"]["lr"],
        "batch size": composed["data"]["train_batch_size"],
        "hidden channels": net["hidden"],
        "kernel size": default(piece_rows, net, "kernel"),
        "tau": default(GumbelSinkhorn, method, "temperature"),
        "Sinkhorn iterations": default(GumbelSinkhorn, method, "rounds"),
        "number of samples": default(GumbelSinkhorn, method, "n_samples"),
    }
    for name, value in chosen.items():
        grid = settings["table12", name, "values"].strip("{}").split(",")
        assert float(value) in [float(x) for x in grid], name


@pytest.mark.parametrize("scale", ["smoke", "small", "medium"])
@pytest.mark.parametrize("table", [f"table{i}" for i in range(1, 8)])
def test_smaller_scales_compose_at_equal_budgets(table, scale):
    cells = build(load(f"symmetric_diffusers/{table}"), Selection(scale=scale, seeds="[0]"))
    runs = unique_runs(cells)
    assert runs
    if scale == "smoke":
        for run in runs:  # no real data: generated pictures or points, scalars, integers
            data = run.whole["data"]
            pictures = data["_target_"].endswith(("Digits", "MnistJigsaw", "Cifar10Jigsaw"))
            assert not pictures or data["generated"], run.id
            assert not data.get("train_files") and not data.get("test_files"), run.id
        return
    trained = [run.whole for run in runs if "fit" in run.whole["stages"]]
    assert len({config["trainer"]["max_steps"] for config in trained}) == 1
    lists = {config["data"]["train_batch_size"] for config in trained}
    assert len(lists) == 1 or (table, scale) == ("table6", "small")  # which says so
    for config in trained:  # every rate goes to zero at the last step
        rate = config["method"]["scheduler"]
        assert rate["_target_"].endswith(".Cosine") and rate.get("floor", 0.0) == 0.0
        assert rate["steps"] == config["trainer"]["max_steps"] > rate["warmup"]


@pytest.mark.parametrize("table", ["table1", "table2"])
@pytest.mark.parametrize("scale", ["small", "medium"])
def test_ours_has_rows_from_dummies_where_training_is_short(table, scale):
    selection = Selection(scale=scale, seeds="[0]", rows=OURS)
    runs = unique_runs(build(load(f"symmetric_diffusers/{table}"), selection))
    heads = [run.whole["network"]["head"] for run in runs]
    assert heads and all(head["rows"] == "dummy" for head in heads)
    column = "Noisy MNIST 2x2" if table == "table1" else "n=3"
    assert config(table, OURS, column)["network"]["head"]["rows"] == "object"


def test_small_tours_need_no_file():
    selection = Selection(scale="small", seeds="[0]")
    for run in unique_runs(build(load("symmetric_diffusers/table4"), selection)):
        assert not run.whole["data"]["train_files"] and not run.whole["data"]["test_files"]
