"""Models to draw from: written from a run, verified, loaded, and checked against their cards."""

import pytest
import torch
import yaml
from safetensors import safe_open

import jumpbench as suite
from jumpbench.artifacts import read_weights, submodule_weights
from jumpbench.cli.main import main
from jumpbench.data.catalog import datasets
from jumpbench.errors import DataCorrupt, DataMissing, UserError
from jumpbench.tables.commands.model_cards import export
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.gate import construct
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.models import load_into, model_reference, models
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.scalefiles import expanded
from jumpbench.tables.planning.selection import Selection

ABOUT = {"title": "a walk", "licence": "none", "metrics": ["mean"], "changes": {"data.n": 5}}


@pytest.fixture
def walk(project, monkeypatch):
    """The folder of models with one of a finished toy run, found by ``JUMPBENCH_MODELS``."""
    assert main(["run", "experiment=toy/walk", "trainer.accelerator=cpu"]) == 0
    folder = next((project / "outputs" / "runs" / "toy").glob("walk-*"))
    root = project / "models"
    export("toy/walk", str(folder), root=root, **ABOUT)
    monkeypatch.setenv("JUMPBENCH_MODELS", str(root))
    return root, suite.load_run(folder)


def test_a_model_is_the_run_in_half_precision(walk, capsys):
    _, run = walk
    model = suite.load_model("toy/walk")
    assert torch.equal(model.method.position, run.method.position.half().float())
    assert model.card["data"]["n"] == 5 and model.card["parameters"] == 4
    assert model.card["trained"]["run"] == run.folder.name
    assert model.card["expected"]["mean"]["mean"] == float(
        model.method.position.detach().double().sum()
    )
    assert "toy/walk" in models()
    assert main(["models"]) == 0
    assert "toy/walk: a walk; 0.0 MB, none" in capsys.readouterr().out


def test_a_folder_of_models_that_does_not_exist_is_an_error(project, monkeypatch, capsys):
    monkeypatch.setenv("JUMPBENCH_MODELS", str(project / "nowhere"))
    assert main(["models"]) == 2
    assert f"JUMPBENCH_MODELS: there is no folder {project / 'nowhere'}" in capsys.readouterr().err


def test_checking_draws_again_and_compares(walk, capsys):
    root, _ = walk
    assert main(["models", "check", "toy/walk"]) == 0
    assert "as expected" in capsys.readouterr().out
    card = root / "toy" / "walk.yaml"
    content = yaml.safe_load(card.read_text())
    mean = content["expected"]["mean"]["mean"]
    for away, good in ((3.0, True), (40.0, False)):
        content["expected"]["mean"] = {"mean": mean + away, "std": 1.0}
        card.write_text(yaml.safe_dump(content))
        assert main(["models", "check", "toy/walk"]) == (0 if good else 1)
    assert "NOT as expected" in capsys.readouterr().out


def test_weights_and_cards_of_others_are_verified(walk):
    root, _ = walk
    card, weights = root / "toy" / "walk.yaml", root / "toy" / "walk.safetensors"
    content = yaml.safe_load(card.read_text())
    for target in ("os.system", "torch.load"):
        card.write_text(yaml.safe_dump(content | {"method": {"_target_": target}}))
        with pytest.raises(UserError, match=target):
            _ = suite.load_model("toy/walk").method
    card.write_text(yaml.safe_dump({"title": "half a card"}))
    with pytest.raises(UserError, match="lacks trained"):
        suite.load_model("toy/walk")
    card.write_text(yaml.safe_dump(content))
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    with pytest.raises(DataCorrupt, match="checksum"):
        _ = suite.load_model("toy/walk").method
    with pytest.raises(UserError, match="no model 'toy/wolk'; did you mean 'toy/walk'"):
        suite.load_model("toy/wolk")


def test_models_come_from_an_address_once(walk, project, monkeypatch):
    root, run = walk
    monkeypatch.setenv("JUMPBENCH_CACHE", str(project / "cache"))
    monkeypatch.setenv("JUMPBENCH_MODELS", root.as_uri())
    first = suite.load_model("toy/walk").method
    assert torch.equal(first.position, run.method.position.half().float())
    (root / "toy" / "walk.yaml").unlink()
    assert torch.equal(suite.load_model("toy/walk").method.position, first.position)
    with pytest.raises(DataMissing, match=r"toy/other.*set JUMPBENCH_MODELS"):
        suite.load_model("toy/other")


def test_an_average_stands_for_its_network_and_nothing_else_may_lack():
    class Both(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = torch.nn.Linear(2, 1)
            self.average = torch.nn.ModuleDict({"network": torch.nn.Linear(2, 1)})

    trained, method = Both(), torch.nn.ModuleDict({"part": Both()})
    weights = {f"part.average.network.{k}": v for k, v in trained.network.state_dict().items()}
    load_into(method, weights, "here")
    assert torch.equal(method["part"].network.weight, trained.network.weight)
    with pytest.raises(UserError, match="here does not fit"):
        load_into(method, {k: v for k, v in weights.items() if "bias" in k}, "here")
    with pytest.raises(UserError, match="here"):
        load_into(method, weights | {"part.network.weight": torch.zeros(7)}, "here")


SUITES = [
    pytest.param(name, marks=[] if name == "dnfs/ising-5" else pytest.mark.long)
    for name in (
        "blackout/mnist-16",
        "dasbs/ising-8",
        "dnfs/ising-5",
        "sgdd/mnist-32",
        "symmetric_diffusers/sort-5",
    )
]
"""Drawing as many samples as a card tells of takes a minute, of the smallest a few seconds."""


@pytest.mark.skipif(not datasets()["mnist"].present(), reason="MNIST is not here")
@pytest.mark.parametrize("name", SUITES)
def test_models_of_the_suite_pass_their_cards(name):
    assert main(["models", "check", name]) == 0


def test_all_models_of_the_suite_are_loaded_and_checked():
    assert {param.values[0] for param in SUITES} == models().keys()
    for name in models():
        model = suite.load_model(name)
        saved = set(safe_open(model.weights, "pt").keys())
        parameters = {k: p for k, p in model.method.named_parameters() if k in saved}
        assert all(parameter.isfinite().all() for parameter in parameters.values())
        # The statistics of normalising layers are saved, and are none
        assert model.card["parameters"] == sum(p.numel() for p in parameters.values())


PRIOR = "sgdd/mnist-32"
DIGITS = ["scale=sgdd/digits/medium"]


@pytest.fixture
def started():
    """A run of SGDD whose prior is a model of the suite."""
    return plan_run("sgdd/mnist", expanded([*DIGITS, f"+needs.prior.model={PRIOR}"]))


def test_a_run_starts_from_a_model_in_place_of_the_run_that_it_needs(started):
    model = suite.load_model(PRIOR)
    trained = plan_run("sgdd/mnist", expanded(DIGITS))
    assert "prior" in trained.needs and "prior" not in started.needs
    assert started.needs.keys() == trained.needs.keys() - {"prior"}
    named = f"model:{PRIOR}@{model.card['sha256'][:16]}"
    assert started.config["needs"]["prior"] == named and started.hash != trained.hash
    prior = construct(started.placed()["method"]["prior"], "prior")
    expected = submodule_weights(read_weights(model.weights), "network")
    found = prior.score_function.network.state_dict()
    assert found.keys() == expected.keys()
    for name, value in found.items():
        assert torch.equal(value, expected[name].float()), name


@pytest.mark.parametrize("table", ["figure3", "figure4", "figure5", "table6", "table9"])
def test_figures_of_digits_start_from_the_prior_of_the_suite(table):
    grid = build(load(f"sgdd/{table}"), Selection("medium", seeds="1"))
    runs = [run for cell in grid for run in cell.runs]
    assert {run.config["needs"]["prior"] for run in runs} == {model_reference(PRIOR)}
    assert not any("prior" in run.needs for run in runs)


def test_a_model_that_is_another_one_now_is_refused(started, walk):
    with pytest.raises(UserError, match="no model 'toy/wolk'"):
        plan_run("sgdd/mnist", ["+needs.prior.model=toy/wolk"])
    run = plan_run("sgdd/mnist", ["+needs.prior.model=toy/walk"])
    root, _ = walk
    card = root / "toy" / "walk.yaml"
    card.write_text(card.read_text().replace("sha256: ", "sha256: 0"))
    with pytest.raises(UserError, match=r"the model toy/walk is not .* any more"):
        run.placed()
