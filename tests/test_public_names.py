"""The names that packages of mathematics offer, and what asking for one costs."""

import ast
import pkgutil
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

import jumpbench
import jumpbench.methods

PACKAGES = ["metrics", "networks", "processes", "samplers", "targets"]
WITHOUT = {"common"}  # methods share its modules, and name them
METHODS = [
    found.name
    for found in pkgutil.iter_modules(jumpbench.methods.__path__)
    if found.ispkg and found.name not in WITHOUT
]


@pytest.mark.parametrize("name", [*PACKAGES, *(f"methods.{name}" for name in METHODS)])
def test_every_public_name_is_there_and_hides_no_module(name):
    package = import_module(f"jumpbench.{name}")
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert package.__all__ and not modules & set(package.__all__)
    for public in package.__all__:
        assert getattr(package, public) is not None
    with pytest.raises(AttributeError, match="nothing_like_it"):
        package.nothing_like_it  # noqa: B018


def _classes():
    """(class, names of its bases) of everything that is no part of the suite."""
    for path in sorted(Path(jumpbench.__file__).parent.rglob("*.py")):
        if not {"tables", "cli"} & set(path.parts):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    yield node.name, {base.id for base in node.bases if isinstance(base, ast.Name)}


def test_no_two_public_classes_share_a_name():
    counts = Counter(name for name, _ in _classes() if not name.startswith("_"))
    assert [name for name, count in counts.items() if count > 1] == []


def test_evaluations_say_that_they_are_one():
    evaluations = {"Evaluation"}
    for _ in range(3):  # subclasses of subclasses
        evaluations |= {name for name, bases in _classes() if bases & evaluations}
    assert len(evaluations) > 15
    assert [name for name in evaluations if not name.endswith("Evaluation")] == []


def test_mathematics_needs_torch_alone():
    """All modules of the five packages and of the tensor routines, in a fresh process."""
    code = """
import pkgutil, sys
from importlib import import_module
import torch
before = set(sys.modules)
import jumpbench.samplers, jumpbench.metrics, jumpbench.processes, jumpbench.targets
assert not [m for m in set(sys.modules) - before if not m.startswith("jumpbench")]
for package in ("ops", "metrics", "networks", "processes", "samplers", "targets"):
    root = import_module(f"jumpbench.{package}")
    for module in pkgutil.walk_packages(root.__path__, root.__name__ + "."):
        import_module(module.name)
foreign = {name.split(".")[0] for name in sys.modules}
heavy = {"torchmetrics", "torchvision", "scipy", "lightning", "hydra", "matplotlib"}
print(sorted(foreign & heavy))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
