"""Weights that others have trained, read into a network of the suite."""

import hashlib
import pickle

import pytest
import torch
from torch import nn

from jumpbench.artifacts import load_weights, trained_weights, with_weights
from jumpbench.errors import DataCorrupt, DataMissing, UserError
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.runs.execute import execute


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("form", ["plain", "checkpoint", "safetensors"])
def test_released_weights_are_read(tmp_path, form):
    trained, path = nn.Linear(3, 2), tmp_path / "oracle.pt"
    weights = trained.state_dict()
    if form == "checkpoint":
        held = {f"model.{name}": value for name, value in weights.items()}
        torch.save({"state_dict": held | {"other": torch.zeros(1)}}, path)
    elif form == "safetensors":
        safetensors = pytest.importorskip("safetensors.torch")
        path = path.with_suffix(".safetensors")
        safetensors.save_file(weights, path)
    else:
        torch.save(weights, path)
    prefix = "model." if form == "checkpoint" else ""
    read = with_weights(nn.Linear(3, 2), path, digest(path).upper(), prefix)
    assert all(torch.equal(read.state_dict()[name], value) for name, value in weights.items())


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "oracle.pt"
    with pytest.raises(DataMissing, match="no such weights"):
        with_weights(nn.Linear(3, 2), path, "0")
    torch.save(nn.Linear(3, 1).state_dict(), path)
    with pytest.raises(DataCorrupt, match="has the checksum"):
        with_weights(nn.Linear(3, 2), path, "0")
    with pytest.raises(UserError, match="do not fit"):
        with_weights(nn.Linear(3, 2), path, digest(path))
    torch.save({"weight": torch.zeros(2, 3)}, path)  # and no bias
    with pytest.raises(UserError, match="do not fit"):
        with_weights(nn.Linear(3, 2), path, digest(path))
    path.write_bytes(pickle.dumps(print))
    with pytest.raises(DataCorrupt, match="holds no weights"):
        with_weights(nn.Linear(3, 2), path, digest(path))


def test_a_part_of_a_trained_method_is_read_from_its_last_checkpoint(tmp_path):
    folder, trained = tmp_path / "checkpoints", nn.Linear(3, 2)
    with pytest.raises(UserError, match="is missing: finish the run"):
        trained_weights(tmp_path)
    folder.mkdir()
    state = {f"energy.{name}": value for name, value in trained.state_dict().items()}
    state["energy_scale"] = torch.ones(1)
    torch.save({"state_dict": state}, folder / "last.ckpt")
    assert trained_weights(tmp_path).keys() == state.keys()
    read = load_weights(nn.Linear(3, 2), tmp_path, "energy")
    assert all(torch.equal(read.state_dict()[k], v) for k, v in trained.state_dict().items())
    with pytest.raises(UserError, match="no 'network'"):
        load_weights(nn.Linear(3, 2), tmp_path, "network")
    with pytest.raises(UserError, match="do not fit this network"):
        load_weights(nn.Linear(3, 1), tmp_path, "energy")
    (folder / "last.ckpt").write_bytes(pickle.dumps(print))
    with pytest.raises(DataCorrupt, match="holds no weights"):
        load_weights(nn.Linear(3, 2), tmp_path, "energy")


def test_a_run_judges_what_others_have_trained(tmp_path, monkeypatch):
    """An oracle of Table 3 with weights from a file is only tested, and leaves them to others."""
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path / "outputs"))
    size = {"outputs": 3, "channels": 8, "layers": 1}
    from jumpbench.networks.sequence_regressor import SequenceRegressor

    path = tmp_path / "oracle.pt"
    torch.save(SequenceRegressor(**size).state_dict(), path)
    source = "{_target_: jumpbench.artifacts.with_weights, network: '${oracle}', "
    source += f"file: '{path}', sha256: {digest(path)}}}"
    run = plan_run(
        "sgdd/dna_activity",
        ["data=motif_enhancers", "oracle.channels=8", "oracle.layers=1", "data.n_samples=8",
         "data.batch_size=8", "stages=[test]", f"method.network={source}"],
    )  # fmt: skip
    execute(run.folder, run.placed())
    left = torch.load(run.folder / "samples.pt", weights_only=True)["network"]
    kept = torch.load(path, weights_only=True)
    assert all(torch.equal(left[name], value) for name, value in kept.items())
