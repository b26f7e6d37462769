"""The list of datasets: cheap to print, and able to verify each of them."""

import subprocess
import sys

import pytest

from jumpbench.data.catalog import datasets
from jumpbench.errors import DataMissing


def test_listing_does_not_import_torch():
    code = (
        "import sys; from jumpbench.data.catalog import datasets; datasets();"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_names_and_verifiers(tmp_path, monkeypatch):
    monkeypatch.setattr("jumpbench.data.files._writable", lambda folder: False)
    for name, dataset in datasets().items():
        assert dataset.name == name and dataset.files and dataset.used_by
        assert not dataset.present(tmp_path)
        with pytest.raises(DataMissing, match=name):
            dataset.verify(tmp_path)
