"""A default stands in one place, the constructor: a run's identity is completed by it, and neither
configurations nor tables repeat it."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from jumpbench.errors import UserError
from jumpbench.paths import suite_root
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.planning import composition, defaults, plan, signatures
from jumpbench.tables.planning.composition import composed
from jumpbench.tables.planning.constructors import targets
from jumpbench.tables.planning.defaults import REQUIRED, completed, equal
from jumpbench.tables.planning.gate import permitted
from jumpbench.tables.planning.grid import _stated, build
from jumpbench.tables.planning.hydra_overrides import parsed_override
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.selection import Selection

CONF = suite_root() / "conf"
FILES = sorted(CONF.rglob("*.yaml"))
TEXT = "\n".join(
    file.read_text() for file in [*FILES, *suite_root().joinpath("reproduce").glob("*/*.yaml")]
)

MODULE = """\
from dataclasses import dataclass
from functools import partial
from jumpbench.methods.common.saved_samples import SavedSamples
from constants import WIDTH

RATE = 0.5

def square(x):
    return x * x

class Base(SavedSamples):
    def __init__(self, depth=2, **others):
        pass

class Model(Base):
    def __init__(self, rate=RATE, width=WIDTH, steps=3, act=square, opt=partial(square, x=1), **kw):
        pass

class Heir(Model):
    pass

@dataclass
class Part:
    size: float = 1.0
    sides: tuple[int, ...] = (1, 2)
"""


@pytest.fixture
def own(own_modules):
    """A module of one's own; returns a function that writes it with a change."""

    def write(old="", new="", constants="WIDTH = 8\n"):
        text = MODULE.replace(old, new) if old else MODULE
        own_modules({"parts": text, "constants": constants})

    write()
    return write


def test_defaults_read_from_the_source_are_those_of_the_classes():
    """Of everything that a file constructs: names, and every default by its value (but that of
    ``halves``, a comprehension)."""
    names = set(re.findall(r"_target_: *(jumpbench\.[\w.]+)", TEXT))
    assert len(names) > 200
    for name in sorted(names):
        known = defaults.arguments(name)
        parameters = signatures._arguments(permitted(name))[0]
        assert known is not None and set(known) == set(parameters) - {"args", "kwargs"}, name
        for key, default in known.items():
            real = parameters[key].default
            assert (default is REQUIRED) is (real is inspect.Parameter.empty), (name, key)
            if isinstance(real, bool | int | str | list | tuple | None) and key != "halves":
                assert equal(real, default), (name, key, default)


def test_classes_above_constants_and_functions_are_followed(own):
    known = defaults.arguments("parts.Heir")
    assert {k: known[k] for k in ("rate", "width", "steps", "depth")} == {
        "rate": 0.5, "width": 8, "steps": 3, "depth": 2,
    }  # fmt: skip
    assert known["act"] == {"_target_": "parts.square", "_partial_": True}
    assert known["opt"] == "partial(square, x=1)"
    assert defaults.arguments("parts.Base")["folder"] is REQUIRED  # of the suite's class above it
    assert defaults.arguments("parts.Part") == {"size": 1.0, "sides": [1, 2]}
    assert defaults.arguments("parts.Nothing") is None
    assert defaults.arguments("torch.optim.AdamW") is None
    assert "parts" not in sys.modules


def identified(*more):
    return plan_run("dnfs/exact", ["method={_target_: parts.Heir}", *more]).hash


@pytest.mark.parametrize("repeat", ["rate=0.5", "width=8", "depth=2", "steps=3.0"])
def test_a_repeated_default_changes_no_identity(own, repeat):
    assert identified(f"method.{repeat}") == identified()


CHANGES = [
    ("steps=3", "steps=4"), ("RATE = 0.5", "RATE = 0.6"), ("depth=2", "depth=3"),
    ("partial(square, x=1)", "partial(square, x=2)"), ("act=square", "act=Base"),
    ("def square(x)", "def square(x, more=1)"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_a_changed_default_changes_the_identity(own, monkeypatch, old, new):
    monkeypatch.setattr("jumpbench.tables.planning.identity.own_code", lambda config: {})
    before, written = identified(), identified("method.steps=3", "method.rate=0.5")
    own(old, new)
    assert identified() != before
    assert identified("method.steps=3", "method.rate=0.5") != written or old[:4] in ("step", "RATE")


def test_a_changed_constant_of_another_module_changes_the_identity(own, monkeypatch):
    monkeypatch.setattr("jumpbench.tables.planning.identity.own_code", lambda config: {})
    before = identified()
    own(constants="WIDTH = 9\n")
    assert identified() != before and identified("method.width=8") == before


def test_a_flag_is_no_number_and_a_whole_number_is_its_default():
    assert not equal(True, 1) and not equal(0, False) and equal(3, 3.0) and equal([1], (1.0,))
    node = {"_target_": "jumpbench.processes.schedules.ModifiedLogLinear", "gamma": 1}
    assert completed(node)["gamma"] == 1.0 and isinstance(completed(node)["gamma"], float)


def test_a_typed_default_is_read(capsys):
    """It makes no other run, and is no mistake."""
    from jumpbench.cli.main import main

    for text in ("method.n_steps=64", "target.field=1.0"):
        assert main(["plan", "dnfs/exact", "scale=smoke", "rows=leTF", text]) in (0, 2)
        assert "nothing reads" not in capsys.readouterr().err


def test_a_key_that_is_not_written_is_set_without_torch():
    code = (
        "import sys\nfrom jumpbench.tables.planning.plan import plan_run\n"
        "from jumpbench.errors import UserError\n"
        "assert plan_run('dnfs/exact', ['method.stored=8']).config['method']['stored'] == 8\n"
        "try: plan_run('dnfs/exact', ['method.stored=many'])\n"
        "except UserError as error: print(error)\n"
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "method.stored takes a number (it is 4 by default)" in done.stdout


def test_no_configuration_file_repeats_a_default():
    """A plain value, but for the keys that a formula or ``copy:`` names: these must be there."""
    repeats = [
        f"{file.relative_to(CONF)}: {place}.{key}"
        for file in FILES
        if file.relative_to(CONF).parts[0] != "experiment"  # may set back: the next test
        for place, node in targets(yaml.safe_load(file.read_text()))
        for key, default in defaults.defaults(node).items()
        if key in node and not isinstance(node[key], dict)
        if equal(node[key], default) and not _is_named(file, f"{place}.{key}")
    ]
    assert not repeats, repeats


def _is_named(file: Path, place: str) -> bool:
    group = file.relative_to(CONF).parts[0]
    mounts = {group, *re.findall(rf"/{group}(?:/\w+)*@([\w.]+):", TEXT)}
    mounts |= set(re.findall(rf"^(\w+): \$\{{{group}\}}", TEXT, re.MULTILINE))
    place = place.strip(".")
    paths = (
        [place] if group in ("experiment", "setting") else [f"{mount}.{place}" for mount in mounts]
    )
    copied = {
        c.strip(' "?') for row in re.findall(r"copy: *\[(.*?)\]", TEXT) for c in row.split(",")
    }
    named = [f"{before}{path}}}" for path in paths for before in ("${", ",")]  # ${times:2,path} too
    return any(name in TEXT for name in named) or any(path in copied for path in paths)


@pytest.mark.slow
def test_no_experiment_repeats_a_default(tmp_path, monkeypatch):
    """Each value of an experiment that is the default of what it goes to is left out in turn."""
    repeats = []
    for file in sorted((CONF / "experiment").rglob("*.yaml")):
        name = str(file.relative_to(CONF / "experiment").with_suffix(""))
        content = yaml.safe_load(file.read_text())
        whole = composed(name)
        for path in [p for p in _leaves(content) if _is_default(whole, p)]:
            if _is_named(file, ".".join(path)):
                continue
            less = yaml.safe_load(file.read_text())
            _at(less, path[:-1]).pop(path[-1])
            other = tmp_path / "conf" / "experiment" / f"{name}.yaml"
            other.parent.mkdir(parents=True, exist_ok=True)
            other.write_text("# @package _global_\n" + yaml.safe_dump(less))
            monkeypatch.setenv("JUMPBENCH_CONF", str(tmp_path / "conf"))
            composition.forget()
            if completed(composed(name)) == completed(whole):
                repeats.append(f"{name}: {'.'.join(path)}")
            other.unlink()
            monkeypatch.delenv("JUMPBENCH_CONF")
            composition.forget()
    assert not repeats, repeats


def _leaves(node, path=()):
    for key, value in node.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, key))
        elif path:
            yield (*path, key)


def _at(node, path):
    for name in path:
        node = node.get(name) if isinstance(node, dict) else None
    return node


def _is_default(config, path) -> bool:
    node = _at(config, path[:-1])
    known = defaults.defaults(node) if isinstance(node, dict) and "_target_" in node else {}
    return path[-1] in known and path[-1] in node and equal(node[path[-1]], known[path[-1]])


@pytest.mark.slow
def test_no_table_repeats_a_default():
    """An override without which every run that it is stated for is the same, in all tables, which
    share files of scales; but a column of a sweep states its value where that is the default."""
    needed, repeated = set(), set()
    for spec in map(load, available()):
        for scale in spec.scales.values():
            grid = build(spec, Selection(scale.name, seeds="1"))
            for cell in {(c.row.name, c.column.name): c for c in grid if c.runs}.values():
                experiment = cell.row.experiment or spec.experiment
                texts = _stated(spec, scale, cell.row, cell.column)
                config = cell.runs[0].config
                for i, text in enumerate(texts):
                    if text in needed or text in cell.column.overrides:
                        continue
                    key = parsed_override(experiment, text).key_or_group
                    if _is_default(config, key.split(".")) and _same(experiment, texts, i):
                        repeated.add(text)
                    else:
                        needed.add(text)
    assert not repeated - needed, repeated - needed


def _same(experiment, texts, i) -> bool:
    try:
        rest = [*texts[:i], *texts[i + 1 :]]
        return plan_run(experiment, rest, 0).hash == plan_run(experiment, texts, 0).hash
    except UserError:
        return False


def test_a_class_above_may_be_one_that_its_package_imports_late(tmp_path, monkeypatch):
    (tmp_path / "late.py").write_text(
        "from jumpbench.targets import Target\nclass Mine(Target): pass\n"
    )
    monkeypatch.chdir(tmp_path)
    plan.forget()
    assert {"length", "n_states"} <= set(defaults.arguments("late.Mine"))
    plan.forget()
