"""Weights of judging networks: searched for, fetched, never taken for another file."""

import hashlib
from dataclasses import replace

import pytest
import torch

from jumpbench.data import weights
from jumpbench.data.weights import INCEPTION, VGG16, Weights, as_torch_hub
from jumpbench.errors import DataCorrupt, DataMissing

CONTENT = b"weights of a test"
OURS = Weights(
    "judge", "judge-1234.pth", "https://example.org/judge-1234.pth",
    hashlib.sha256(CONTENT).hexdigest(), also=("other-1234.pth",),
)  # fmt: skip


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """An empty torch hub, and no network."""
    folder = tmp_path / "hub"
    monkeypatch.setattr(torch.hub, "_hub_dir", str(folder))

    def no_network(*args, **kwargs):
        raise OSError("no route to host")

    monkeypatch.setattr(torch.hub, "download_url_to_file", no_network)
    return folder / "checkpoints"


def test_the_data_root_is_searched_before_the_hub_under_every_name(hub, tmp_path):
    hub.mkdir(parents=True)
    root = tmp_path / "data"
    (root / "judge").mkdir(parents=True)
    (hub / OURS.file).write_bytes(CONTENT)
    assert OURS.obtain(root=root) == hub / OURS.file
    for name in (*OURS.also, OURS.file):
        (root / "judge" / name).write_bytes(CONTENT)
        assert OURS.obtain(root=root) == root / "judge" / name
    assert OURS.obtain(hub / OURS.file, root) == hub / OURS.file


def test_absent_weights_are_missing_data_with_file_and_folders(hub, tmp_path):
    with pytest.raises(DataMissing) as error:
        OURS.obtain(root=tmp_path)
    for part in (OURS.file, str(tmp_path / "judge"), str(hub), OURS.url, "no route to host"):
        assert part in str(error.value)
    with pytest.raises(DataMissing, match=r"nowhere.pth does not exist"):
        OURS.obtain(tmp_path / "nowhere.pth")


def test_another_file_under_the_name_is_refused(hub, tmp_path):
    hub.mkdir(parents=True)
    (hub / OURS.file).write_bytes(b"a pickle of a stranger")
    with pytest.raises(DataCorrupt, match="is not the published file"):
        OURS.obtain(root=tmp_path)
    with pytest.raises(DataCorrupt, match="is not the published file"):
        OURS.obtain(hub / OURS.file)


def test_what_is_fetched_stays_in_the_hub_and_is_verified(hub, tmp_path, monkeypatch):
    def fetch(url, target, progress):
        assert url == OURS.url
        with open(target, "wb") as stream:
            stream.write(CONTENT)

    monkeypatch.setattr(torch.hub, "download_url_to_file", fetch)
    assert OURS.obtain(root=tmp_path) == hub / OURS.file
    assert replace(OURS, file="x.pth", sha256=OURS.sha256[:8]).obtain(root=tmp_path).is_file()


def test_a_library_finds_the_file_in_its_hub(hub, tmp_path):
    path = tmp_path / "judge-1234.pth"
    torch.save({"weight": torch.arange(3.0)}, path)
    before = torch.hub.get_dir()
    with as_torch_hub(path):
        state = torch.hub.load_state_dict_from_url(OURS.url, weights_only=True)
    assert state["weight"].tolist() == [0, 1, 2] and torch.hub.get_dir() == before


def test_names_are_those_that_the_libraries_look_for():
    fidelity = pytest.importorskip("torch_fidelity.feature_extractor_inceptionv3")
    assert INCEPTION.url == fidelity.URL_INCEPTION_V3


def test_torchvision_looks_for_the_same_features():
    from torchvision.models import VGG16_Weights

    assert VGG16_Weights.IMAGENET1K_V1.url == VGG16.url
    assert VGG16.url.endswith(VGG16.file) and VGG16.sha256 in VGG16.file


def test_verifiers_of_the_catalogue_name_the_file(hub, tmp_path):
    for verify in (weights.verify_inception, weights.verify_vgg16):
        with pytest.raises(DataMissing, match=r"put \S+\.pth into"):
            verify(tmp_path)
