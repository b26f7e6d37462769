"""The notebooks run from top to bottom, and are stored without what they print."""

import json

import pytest

from documented import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb")) if ROOT else []


def test_there_are_three_and_they_are_small_and_without_output():
    if ROOT is None:
        pytest.skip("needs a checkout")
    assert len(NOTEBOOKS) == 3
    for path in NOTEBOOKS:
        assert path.stat().st_size < 200_000
        code = [c for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "code"]
        assert all(c["outputs"] == [] and c["execution_count"] is None for c in code), path.name


LONG = ("guided_digits", "own_energy")
"""They train for a minute; the third shows that a kernel runs one."""
CASES = [
    pytest.param(p, id=p.stem, marks=pytest.mark.long if p.stem in LONG else pytest.mark.slow)
    for p in NOTEBOOKS
]


@pytest.mark.parametrize("path", CASES)
def test_it_runs_from_top_to_bottom(path, tmp_path, monkeypatch):
    """In a kernel of its own; a cell that raises fails it."""
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(path, as_version=4)
    client.NotebookClient(notebook, timeout=600, kernel_name="python3").execute(cwd=str(tmp_path))
    printed = [
        o for c in notebook.cells for o in c.get("outputs", ()) if o["output_type"] != "error"
    ]
    assert printed
