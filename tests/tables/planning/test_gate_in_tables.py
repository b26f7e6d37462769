"""The gate where tables, figures and other people's runs meet it; what it lets pass is harmless."""

import ast
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from attacks import SHELL, Evil, shell

import jumpbench as suite
from jumpbench.cli.main import main
from jumpbench.errors import UserError
from jumpbench.paths import suite_root
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.planning import constructors
from jumpbench.tables.planning.constructors import check_allowed
from jumpbench.tables.planning.gate import permitted
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.selection import Selection

FIGURES = [
    {"name": "x", "_target_": "pydoc.pipepager", "cmd": "touch PWNED"},
    {"name": "x", "_target_": "jumpbench.paths.os.system"},
    {"name": "x", "_target_": SHELL},
    {"name": "x", "_target_": "torch.nn.Linear"},
    {"name": "x", "_target_": 3},
    {"name": "x"},
]


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_is_a_function_that_may_be_called(project, own_page, capsys, monkeypatch, figure):
    monkeypatch.chdir(project)
    path = project / "reproduce/toy/coins.yaml"
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    assert main(["report", "--record", "toy/coins", "scale=smoke"]) == 0
    path.write_text(path.read_text().replace("figures: []", f"figures: [{json.dumps(figure)}]"))
    capsys.readouterr()
    assert main(["table", "toy/coins", "scale=smoke"]) == 2
    assert "figure 'x'" in capsys.readouterr().err
    main(["report"])
    assert not (project / "PWNED").exists()


def test_a_run_of_somebody_else_is_data(project, tmp_path):
    """The configuration of a finished run, its weights and its samples."""
    assert main(["run", "experiment=toy/walk"]) == 0
    (folder,) = (project / "outputs/runs/toy").glob("walk-*")
    config = folder / "config.yaml"
    content = yaml.safe_load(config.read_text())
    mark = tmp_path / "PWNED"
    for boom in (
        {"_target_": "torch.utils.collect_env.run", "_args_": [f"touch {mark}"]}, shell(mark),
        {"_target_": "os.system", "command": f"touch {mark}"},
        {"_target_": "jumpbench.files.write_atomic", "path": str(mark), "content": ""},
    ):  # fmt: skip
        config.write_text(yaml.safe_dump({**content, "method": {**content["method"], "x": boom}}))
        with pytest.raises(UserError, match="may not call"):
            _ = suite.load_run(folder).method
        config.write_text(yaml.safe_dump({**content, "method": boom}))
        with pytest.raises(UserError, match="may not call"):
            _ = suite.load_run(folder).method
    config.write_text(yaml.safe_dump(content))
    evil = pickle.dumps(Evil(mark))
    whole = (folder / "checkpoints/last.ckpt").read_bytes()
    for name in ("checkpoints/last.ckpt", "samples.pt"):
        (folder / name).write_bytes(evil)
        with pytest.raises(Exception):  # noqa: B017 - whatever torch says of it
            _ = (suite.load_run(folder).method, suite.load_run(folder).artifacts)
        torch.save({"state_dict": Evil(mark), "samples": Evil(mark)}, folder / name)
        with pytest.raises(Exception):  # noqa: B017
            _ = (suite.load_run(folder).method, suite.load_run(folder).artifacts)
        (folder / "checkpoints/last.ckpt").write_bytes(whole)
    assert not mark.exists()
    assert suite.load_run(folder).method.position.shape == (4,)


@pytest.mark.parametrize(
    "text",
    [
        "[1]",
        "x",
        "{a: ",
        "method: &a [*a]",
        "\xff\xfe",
        "a: ${",
        "method: {_target_: toys.Dies, step: 3}",
    ],
)
def test_a_damaged_configuration_of_a_run_is_named(project, text):
    assert main(["run", "experiment=toy/coin"]) == 0
    (folder,) = (project / "outputs/runs/toy").glob("coin-*")
    (folder / "config.yaml").write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError, match=r"config\.yaml"):
        _ = suite.load_run(folder).method


LAYERS = ("processes", "samplers", "targets", "networks", "solvers", "metrics", "ops", "data",
          "evaluations", "methods")  # fmt: skip
EFFECTS = {"subprocess", "importlib", "pickle", "shutil", "eval", "exec", "compile", "__import__",
           "system", "popen", "hub", "write_atomic", "write_text", "write_bytes", "unlink", "mkdir",
           "rmtree", "urlopen", "urlretrieve", "import_module", "save", "rename"}  # fmt: skip


def effects(path):
    """Names in a file that stand for commands, imports by name, or files that change."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import | ast.ImportFrom):
            words = [getattr(node, "module", None) or "", *(a.name for a in node.names)]
            found |= EFFECTS & {part for word in words for part in word.split(".")}
        elif isinstance(node, ast.Name) and node.id in EFFECTS - {
            "compile",
            "hub",
            "save",
            "system",
        }:
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and (
            node.attr in EFFECTS - {"compile", "eval", "system"} or ast.unparse(node) == "os.system"
        ):
            found.add(node.attr)
    return found


def test_what_can_be_constructed_changes_no_file_and_starts_no_command():
    """So that a later module of the layers which does is not reachable unseen."""
    package = Path(suite.__file__).parent
    found = {
        ".".join(path.relative_to(package).with_suffix("").parts): seen
        for layer in LAYERS
        for path in (package / layer).rglob("*.py")
        if (seen := effects(path))
    }
    assert found.pop("data.cifar10") == {"mkdir", "write_bytes"}  # in a temporary folder
    assert found.pop("evaluations.decoded_images") == {"hub"}  # the name of its folder
    assert found.pop("evaluations.inception") == {"importlib"}  # is torch-fidelity installed?
    assert {f"jumpbench.{name}" for name in found} == set(constructors.CLOSED), found


def test_everything_that_the_suite_itself_names_passes():
    names = set()
    for folder in ("conf", "reproduce"):
        for path in (suite_root() / folder).rglob("*.yaml"):
            for line in path.read_text().split("_target_: ")[1:]:
                names.add(line.split(",")[0].split("}")[0].split("\n")[0].split("#")[0].strip())
    names -= {*constructors.GETTERS, "???"}  # the latter is a choice that is left to the user
    assert len(names) > 150
    for name in sorted(names):
        assert callable(permitted(name)), name
    for table_id in available():
        for figure in load(table_id).figures or ():
            assert callable(permitted(figure["_target_"]))


def test_planning_imports_no_torch(project):
    code = (
        "import sys; from jumpbench.tables.planning.grid import Selection, build;"
        "from jumpbench.tables.language.spec import load;"
        "build(load('sgdd/table2'), Selection('smoke'));"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=project).returncode == 0


def test_every_planned_run_is_named_rightly():
    for cell in build(load("dasbs/table2"), Selection("smoke", "1")):
        for run in cell.runs:
            check_allowed(run.config)
    with pytest.raises(UserError, match="may not call"):
        plan_run("dasbs/exact", ["+method.boom={_target_: jumpbench.files.write_atomic}"])
