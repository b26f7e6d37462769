"""The file of a training's curves: byte for byte the same after a stop, whatever that cut off."""

from types import SimpleNamespace

import pytest

from jumpbench.tables.runs.traininglog import TrainingLog


def at(step, **metrics):
    """A trainer at a step, whose module has logged these metrics."""
    return SimpleNamespace(
        callback_metrics=metrics, is_global_zero=True, global_step=step, log_every_n_steps=1,
        sanity_checking=False,
    )  # fmt: skip


def logged(path, first, last):
    """A training from one step to another, which begins with no rows of later ones."""
    log = TrainingLog(path)
    log.on_train_start(at(first), None)
    for step in range(first + 1, last + 1):
        log.on_train_batch_end(at(step, loss=step / 8, drift=0.0))
        if step % 3 == 0:
            log.on_validation_end(at(step, val=1.5), None)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "training" / "metrics.csv"


def test_a_resumed_file_is_that_of_an_undisturbed_training(path):
    whole = logged(path, 0, 7)
    assert whole.startswith(b"step,loss,drift,val\n1,0.125,0.0,\n") and b"\r" not in whole
    for step in (4, 7):
        assert logged(path, step, 7) == whole
    path.write_bytes(whole.replace(b"\n", b"\r\n"))  # as it was written before
    assert logged(path, 7, 7) == whole


@pytest.mark.parametrize("cut", [1, 2, 6])
def test_a_row_that_was_cut_off_swallows_no_other(path, cut):
    whole = logged(path, 0, 5)
    path.write_bytes(whole[:-cut])
    assert logged(path, 4, 5) == whole
    path.write_bytes(whole.rpartition(b"5,")[0] + b"5,0.65,0.625,0.0,\n")  # swallowed earlier
    assert logged(path, 4, 5) == whole
    path.write_bytes(whole.rpartition(b"5,")[0] + b"5,0\n")
    assert logged(path, 4, 5) == whole


def test_a_file_without_a_whole_row_is_begun_anew(path):
    whole = logged(path, 0, 2)
    for piece in (b"", b"st", b"step,loss,drift\n1,0.1"):
        path.write_bytes(piece)
        assert logged(path, 0, 2) == whole
