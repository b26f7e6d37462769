"""What a file of somebody else may construct: every way round the list that was tried, and what
has to go on working."""

import functools
import pickle
import sys

import pytest
import torch
from attacks import SHELL, Evil, shell

from jumpbench.cli.main import main
from jumpbench.errors import UserError
from jumpbench.paths import suite_root
from jumpbench.tables.planning import constructors
from jumpbench.tables.planning.constructors import check_allowed
from jumpbench.tables.planning.gate import construct, permitted
from jumpbench.tables.planning.scalefiles import spelled

MINE = """\
import os, subprocess
import torch
from subprocess import getoutput
from os import *
import functools
from lightning import LightningModule

class Thing:
    def __init__(self, size=1): self.size = size
    @classmethod
    def large(cls): return cls(9)
    @staticmethod
    def two(): return 2
    run = staticmethod(getoutput)

class Model(LightningModule): pass

@functools.cache
def cached(x=1): return x + 1

def step(x=1): return x
halved = functools.partial(step, 3)
shell = functools.partial(getoutput)
tool = Thing(5)
remote = eval
SIZES = [1, 2]
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with a module of one's own, and a folder of the name of an installed one."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "wandb").mkdir()
    (tmp_path / "lab/sub").mkdir(parents=True)
    (tmp_path / "lab/__init__.py").write_text("from lab.sub.deep import Deep\nimport yaml\n")
    (tmp_path / "lab/sub/deep.py").write_text("class Deep: pass\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    constructors.is_allowed.cache_clear()
    yield tmp_path
    constructors.is_allowed.cache_clear()
    for name in [n for n in sys.modules if n.split(".")[0] in ("mine", "lab")]:
        del sys.modules[name]


DETOURS = [
    # a module reached through another one
    SHELL, "torch.nn.functional.torch.load", "torch.nn.functional.torch.hub.load",
    "torch.nn.functional.torch.jit.load", "torch.nn.modules.module.torch.save",
    "torch.optim.optimizer.torch.load", "jumpbench.paths.os.system",
    "jumpbench.data.files.os.system", "jumpbench.data.files.tarfile.open",
    "jumpbench.tables.runs.git.subprocess.getoutput", "jumpbench.artifacts.torch.load",
    "jumpbench.artifacts.hashlib.os.system", "lightning.pytorch.trainer.trainer.os.system",
    "torchmetrics.metric.pickle.loads", "torchmetrics.metric.torch.load",
    # what another package defines, and an allowed one only imports
    "jumpbench.data.catalog.import_module", "jumpbench.data.images.generated_digits.__globals__",
    "torch.nn.modules.module.OrderedDict", "jumpbench.lazy.import_module",
    # what belongs to an allowed package and is more than a part of a model
    "jumpbench.files.write_atomic", "jumpbench.data.files.download", "jumpbench.cli.main.main",
    "jumpbench.data.files.DataFile", "jumpbench.data.downloads.resumed",
    "jumpbench.tables.runs.git.git", "jumpbench.load_run",
    "jumpbench.tables.runs.attempt.forget", "jumpbench.tables.planning.gate.construct",
    "jumpbench.tables.planning.constructors.locate", "jumpbench.data.catalog.Dataset",
    "jumpbench.methods.common.shards.Shards", "jumpbench.tables.launchers.slurm_job.main",
    "lightning.pytorch.cli.LightningCLI", "lightning.pytorch.cli.instantiate_class",
    "lightning.fabric.utilities.cloud_io.get_filesystem", "lightning.seed_everything",
    "torch.nn.utils.parametrize.register_parametrization",
    "torch.nn.Module.load_state_dict", "torch.optim.Optimizer.load_state_dict",
    "jumpbench.methods.common.base.Method.load_from_checkpoint",
    "jumpbench.methods.common.base.Method.__init__", "jumpbench.methods.common.base.Method.mro",
    "lightning.LightningModule.load_from_checkpoint",
    "lightning.LightningDataModule.load_from_checkpoint",
    # not even by name
    "torch.load", "torch.hub.load", "torch.jit.load", "torch.utils.collect_env.run", "os.system",
    "builtins.eval", "pydoc.pipepager", "hydra.utils.instantiate", "hydra._internal.utils._locate",
    "hydra.utils.get_method", "pickle.loads", "yaml.unsafe_load", "numpy.load", "os..system", "",
    "jumpbench", "torch", "mine", ".mine.step", "mine.", "mine.step\n", "lightning.",
    # through modules of one's own
    "mine.os.system", "mine.subprocess.run", "mine.torch.load", "mine.getoutput", "mine.system",
    "mine.Thing.run", "mine.Thing.__init__", "mine.Thing.__class__", "mine.step.__globals__",
    "mine.__builtins__", "mine.Model.load_from_checkpoint", "mine.shell", "mine.remote",
    "mine.tool.__class__", "lab.yaml.unsafe_load", "lab.sub", "mine.functools.partial",
    # what is installed, under the name of a folder that happens to lie here
    "wandb.sdk.lib.filesystem.safe_open", "wandb.Artifact",
]  # fmt: skip


@pytest.mark.parametrize("name", DETOURS)
def test_no_way_round(here, name):
    with pytest.raises(UserError):
        permitted(name)
    with pytest.raises(UserError):
        construct({"_target_": name})
    for getter in ("get_method", "get_class", "get_object"):
        with pytest.raises(UserError):
            construct({"x": [{"_target_": f"hydra.utils.{getter}", "path": name}]})


@pytest.mark.parametrize(
    "node",
    [
        {"_target_": "hydra.utils.get_method", "_partial_": True},
        {"_target_": "hydra.utils.get_method", "_args_": ["os.system"]},
        {"_target_": "hydra.utils.get_method", "path": "hydra.utils.get_method"},
        {"_target_": ["os.system"]},
        {"_target_": {"_target_": "mine.step"}},
        {"_target_": None},
        {"_target_": "torch.compile", "_partial_": True, "options": {"cpp.cxx": ["/tmp/x"]}},
        {"_target_": "torch.compile", "_args_": [1], "_partial_": True, "options": None},
    ],
)
def test_no_way_round_in_a_node(here, node):
    with pytest.raises(UserError):
        check_allowed({"method": {"a": [{"b": node}]}})
    with pytest.raises(UserError):
        construct({"a": [{"b": node}]})


def test_a_checkout_as_the_working_folder_offers_none_of_its_own_files(monkeypatch):
    monkeypatch.chdir(suite_root())
    constructors.is_allowed.cache_clear()
    for name in ("src.jumpbench.files.write_atomic", "tests.tables.cluster.os.system",
                 "tests.support.OwnHeads"):  # fmt: skip
        with pytest.raises(UserError, match=r"may not call|there is no module"):
            permitted(name)
    constructors.is_allowed.cache_clear()


def test_what_is_documented_goes_on_working(here, monkeypatch):
    assert construct({"_target_": "mine.Thing", "size": 3}).size == 3
    assert construct({"_target_": "mine.Thing.large"}).size == 9
    assert construct({"_target_": "mine.Thing.two"}) == 2
    assert construct({"_target_": "mine.cached"}) == 2
    assert construct({"_target_": "mine.halved"}) == 3
    assert construct({"_target_": "mine.step", "_partial_": True})(4) == 4
    tool = construct({"a": {"_target_": "hydra.utils.get_object", "path": "mine.tool"}})["a"]
    assert tool.size == 5
    assert construct({"_target_": "hydra.utils.get_object", "path": "mine.SIZES"}) == [1, 2]
    assert type(construct({"_target_": "lab.Deep"})).__module__ == "lab.sub.deep"
    with pytest.raises(UserError, match="JUMPBENCH_MODULES"):
        permitted("rich.console.Console")
    monkeypatch.setenv("JUMPBENCH_MODULES", "rich, other")
    constructors.is_allowed.cache_clear()
    assert construct({"_target_": "rich.console.Console"}).width
    for name in (
        "torch.nn.Linear", "torch.nn.modules.activation.GELU", "torch.optim.AdamW", "torch.compile",
        "torch.optim.lr_scheduler.StepLR", "torch.nn.functional.gelu", "torch.nn.functional.silu",
        "torch.optim.swa_utils.get_ema_multi_avg_fn", "torchmetrics.MeanMetric",
        "lightning.Trainer", "lightning.pytorch.callbacks.WeightAveraging",
        "lightning.pytorch.loggers.WandbLogger",
        "lightning.pytorch.profilers.SimpleProfiler", "lightning.pytorch.strategies.DDPStrategy",
        "lightning.pytorch.plugins.environments.SLURMEnvironment", "lightning.LightningModule",
        "jumpbench.targets.Ising", "jumpbench.targets.graphs.Graphs.of",
        "jumpbench.artifacts.with_weights", "jumpbench.tables.views.figures.curves",
    ):  # fmt: skip
        assert callable(permitted(name))


def test_construction_is_that_of_hydra(here):
    from hydra.utils import instantiate

    node = {
        "_target_": "mine.Thing",
        "size": {
            "list": [1, {"_target_": "mine.step", "x": [1, {"b": 2}]}],
            "partial": {"_target_": "torch.optim.Adam", "_partial_": True, "lr": 0.1},
            "method": {"_target_": "hydra.utils.get_method", "path": "mine.step"},
            "args": {"_target_": "mine.step", "_args_": [7]},
        },
    }
    ours, hydras = construct(node), instantiate(node, _convert_="all")
    partial = ours.size.pop("partial")
    assert isinstance(partial, functools.partial) and partial.func is torch.optim.Adam
    assert partial.keywords == hydras.size.pop("partial").keywords == {"lr": 0.1}
    assert ours.size == hydras.size
    assert construct(node, size=4).size == 4
    assert construct(None) is None and construct([]) == []
    for getter, path in (("get_class", "mine.step"), ("get_method", "mine.SIZES")):
        with pytest.raises(UserError, match="is no"):
            construct({"_target_": f"hydra.utils.{getter}", "path": path})


def test_a_text_is_never_looked_up_again(here, monkeypatch):
    """Formulas are replaced once, when a run is planned; what still looks like one is a text."""
    monkeypatch.setenv("SECRET", "told")
    for text in ("${oc.env:SECRET}", '${oc.create:"{_target_: mine.step}"}', "${", "???"):
        assert construct({"_target_": "mine.step", "x": text}) == text


@pytest.mark.parametrize("key", ["method.fail", "+method.source.x", "+trainer.callbacks"])
def test_an_escaped_formula_makes_no_node(project, monkeypatch, key):
    """What is a text when the run is planned stays one when it is built."""
    monkeypatch.chdir(project)
    boom = "{_target_: torch.utils.collect_env.run, command: touch PWNED}"
    text = f"'\\${{oc.create:\"{boom}\"}}'"
    main(["run", "experiment=toy/coin", f"{key}=[{text}]" if "trainer" in key else f"{key}={text}"])
    assert not (project / "PWNED").exists()


@pytest.mark.parametrize("detour", ["shell", "pickle", "hub"])
@pytest.mark.parametrize(
    "key", ["+trainer.callbacks", "+trainer.plugins", "+method.boom", "+data.boom"]
)
def test_no_override_runs_a_command(project, capsys, detour, key):
    mark, file = project / "PWNED", project / "evil.pt"
    file.write_bytes(pickle.dumps(Evil(mark)))
    (project / "hubconf.py").write_text(f"open({str(mark)!r}, 'w')\ndef m(): pass\n")
    node = {
        "shell": shell(mark),
        "pickle": {"_target_": "torch.nn.functional.torch.load", "f": str(file),
                   "weights_only": False},
        "hub": {"_target_": "torch.nn.functional.torch.hub.load", "repo_or_dir": str(project),
                "model": "m", "source": "local", "trust_repo": True},
    }[detour]  # fmt: skip
    words = f"{key}=[{spelled(node)}]" if key.startswith("+trainer") else f"{key}={spelled(node)}"
    assert main(["run", "experiment=toy/coin", words]) in (1, 2)
    assert not mark.exists()
    assert "may not call 'torch.nn.functional" in " ".join(capsys.readouterr().err.split())
    assert not list(project.glob("outputs/runs/*/*/metrics.json"))
