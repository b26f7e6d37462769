"""What was made comes back: trained weights, samples, numbers per seed."""

import pytest
import torch

import jumpbench as suite
from jumpbench.errors import UserError


def finished(jumpbench, *arguments):
    jumpbench("run", *arguments, "trainer.accelerator=cpu", check=0)


def only_run(project, name):
    return next((project / "outputs" / "runs" / "toy").glob(f"{name}-*"))


def test_a_trained_method_comes_back(project, jumpbench):
    finished(jumpbench, "experiment=toy/walk")
    folder = only_run(project, "walk")
    run = suite.load_run(folder)
    assert run.config["name"] == "walk" and run.provenance["seed"] == 0
    state = torch.load(folder / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"]
    assert torch.equal(run.method.position, state["position"])
    assert run.metrics["mean"] == float(run.method.position.detach().double().sum())
    assert run.artifacts["samples"].shape == (4, 1)
    same = suite.load_run(folder.name.rsplit("-", 1)[-1])
    assert same.folder == suite.load_run(f"toy/{folder.name}").folder == folder


def test_a_damaged_checkpoint_is_named_with_the_way_out(project, jumpbench):
    finished(jumpbench, "experiment=toy/walk")
    checkpoint = only_run(project, "walk") / "checkpoints" / "last.ckpt"
    checkpoint.write_bytes(checkpoint.read_bytes()[:300])
    with pytest.raises(UserError, match=r"last.ckpt is damaged .*delete metrics.json beside it"):
        _ = suite.load_run(checkpoint.parents[1]).method


def test_a_run_that_is_not_there_or_not_finished_is_named(project, jumpbench):
    finished(jumpbench, "experiment=toy/coin")
    folder = only_run(project, "coin")
    with pytest.raises(UserError, match=r"no run 'toy/coyn.*coin"):
        suite.load_run("toy/coyn-" + folder.name.rsplit("-", 1)[-1])
    (folder / "metrics.json").unlink()
    with pytest.raises(UserError, match="has not finished"):
        suite.load_run(folder)


def test_a_table_is_tidy_rows(project, jumpbench):
    with pytest.raises(UserError, match="neither made nor recorded"):
        suite.load_table("toy/coins")
    with pytest.raises(UserError, match="no table 'toy/coin'; did you mean 'toy/coins'"):
        suite.load_table("toy/coin")
    arguments = ("table", "toy/coins", "rows=fair", "trainer.accelerator=cpu")
    jumpbench(*arguments, check=0)
    rows = suite.load_table("toy/coins", "small")
    fair = [r for r in rows if r["row"] == "fair" and r["column"] == "small n"]
    assert fair and all(r["paper"] == 0.5 and 0.4 < r["value"] < 0.6 for r in fair)
