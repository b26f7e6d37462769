"""Trained classes, killed and made again, end as if they had not been; see interruptions.py."""

import inspect
import pkgutil
from importlib import import_module

import pytest
from interruptions import SHORT, TRAINED, Point, interrupt_everywhere

import jumpbench.methods
from jumpbench.methods.common.base import Method


def trained_classes():
    """Every shipped method with a training step of its own."""
    for module in pkgutil.walk_packages(jumpbench.methods.__path__, "jumpbench.methods."):
        for _, kind in inspect.getmembers(import_module(module.name), inspect.isclass):
            if issubclass(kind, Method) and kind.__module__ == module.name:
                yield kind


def test_no_method_concludes_anything_behind_the_checkpoint_of_its_step():
    """Lightning calls the module's on_train_batch_end after that of the callback which saves."""
    for kind in trained_classes():
        assert "on_train_batch_end" not in vars(kind), kind


@pytest.mark.long
def test_every_trained_class_is_interrupted():
    made = {
        place.run(*SHORT).config["method"]["_target_"].split(".")[-1] for place in TRAINED.values()
    }
    steps = [k for k in trained_classes() if k.training_step is not Method.training_step]
    shipped = {kind.__name__ for kind in steps if not inspect.isabstract(kind)}
    bases = {"Blackout", "Attributes"}  # not trained as they are, or without a step of their own
    assert shipped - made <= bases, shipped - made


@pytest.mark.slow
def test_probes_of_a_step_with_a_checkpoint_are_not_forgotten(tmp_path, monkeypatch):
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path))
    at = [Point("on_train_batch_end", 3), Point("on_train_batch_start", 5)]
    assert interrupt_everywhere(TRAINED["DNFS"].run(*SHORT), at) == (2, [])


@pytest.mark.long
@pytest.mark.parametrize("name", TRAINED)
def test_killed_anywhere_a_run_ends_the_same(name, tmp_path, monkeypatch):
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path))
    tried, different = interrupt_everywhere(TRAINED[name].run(*SHORT))
    assert tried >= 10 and not different
