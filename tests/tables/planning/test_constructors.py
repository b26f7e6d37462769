"""What a configuration may call, and mistakes that are told before anything runs."""

import pytest

from jumpbench.cli.main import main
from jumpbench.errors import UserError
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.planning.constructors import check_allowed, locate
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.planning.signatures import check_signatures

TRAINER = {"_target_": "lightning.Trainer", "devices": 1}


@pytest.mark.parametrize(
    "name",
    [
        "os.system", "torch.load", "subprocess.run", "builtins.eval", "torch.hub.load",
        "importlib.import_module", "hydra.utils.instantiate", "torch.nn.modules.module._load",
        "numpy.load", "pickle.loads", "yaml.unsafe_load", "jumpbench.__builtins__.eval",
    ],
)  # fmt: skip
def test_a_configuration_calls_what_it_may(project, name):
    with pytest.raises(UserError, match="may not call"):
        plan_run("toy/coin", [f"+method.boom={{_target_: {name}}}"])
    with pytest.raises(UserError, match="may not call"):
        getter = {"_target_": "hydra.utils.get_method", "path": name}
        check_allowed({"method": {"_target_": "toys.Coin", "f": [getter]}})


def test_own_modules_are_allowed(project, monkeypatch, tmp_path):
    check_allowed({"method": {"_target_": "toys.Coin"}})  # on PYTHONPATH
    with pytest.raises(UserError, match="JUMPBENCH_MODULES"):
        check_allowed({"method": {"_target_": "rich.console.Console"}})
    (project / "mine").mkdir()
    check_allowed({"method": {"_target_": "mine.Greedy"}})  # beside JUMPBENCH_CONF


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("+method.bais=0.4", "Coin has no argument 'bais'; did you mean 'bias'"),
        ("method._target_=toys.Coni", "toys has no 'Coni'; did you mean 'Coin'"),
        ("method._target_=jumpbench.methods.nowhere.Coin", "has no 'nowhere'"),
        ("trainer.max_steps=abc", "takes a whole number for 'max_steps'"),
        ("data.n=1.5", "Steps takes a whole number for 'n'"),
        ("+data.train_batch_size=abc", "Steps takes a whole number for 'train_batch_size'"),
        ("+trainer.max_stepz=3", "Trainer has no argument 'max_stepz'; did you mean 'max_steps'"),
    ],
)
def test_a_mistake_is_told_before_the_run_that_is_needed(project, capsys, override, said):
    assert main(["run", "experiment=toy/second", override]) == 1
    shown = " ".join(capsys.readouterr().err.split())
    assert said in shown
    assert not (project / "trace").exists()  # the needed run was not made


def test_a_module_that_cannot_be_imported_says_how(project):
    (project / "broken.py").write_text("import nothing_like_this")
    with pytest.raises(UserError, match="importing broken failed: No module named 'nothing_like"):
        check_signatures({"method": {"_target_": "broken.Thing"}, "trainer": TRAINER})
    with pytest.raises(UserError, match="set PYTHONPATH"):
        locate("nothing_like_this.Thing")


def test_a_lacking_argument_is_named(project):
    target = {"_target_": "jumpbench.targets.ising.Ising"}
    with pytest.raises(UserError, match=r"method\.source: Ising needs .*size"):
        method = {"_target_": "toys.Coin", "source": target}
        check_signatures({"method": method, "trainer": TRAINER})


def test_an_error_while_building_has_its_cause(project, capsys, monkeypatch):
    monkeypatch.setattr("toys.Coin.__init__", lambda self, **_: [][3])
    assert main(["run", "experiment=toy/coin"]) == 1
    assert "IndexError: list index out of range" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["small", "paper"])
def test_all_runs_of_all_tables_could_be_built(scale):
    seen = set()
    for table_id in available():
        table = load(table_id)
        if scale not in table.scales:
            continue
        for cell in build(table, Selection(scale, "1")):
            for run in (step for r in cell.runs for step in r.with_needs()):
                if run.hash not in seen:
                    seen.add(run.hash)
                    check_signatures(run.config)
    assert len(seen) > 100
