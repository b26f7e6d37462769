"""Every table that is shipped runs: the smoke scale of each table file, whole pipeline, no data."""

import json

import pytest

from jumpbench.tables.language.spec import available, load

TABLES = [table for table in available() if "smoke" in load(table).scales]


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_the_smoke_scale_of_every_table(table, tmp_path, monkeypatch, capsys):
    from jumpbench.cli.main import main

    monkeypatch.delenv("JUMPBENCH_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    status = main(["table", table, "scale=smoke", "trainer.accelerator=cpu"])
    output = capsys.readouterr()
    assert status == 0, output.out[-2000:] + output.err[-2000:]
    path = tmp_path / "outputs" / "tables" / table / "smoke" / "table.json"
    cells = json.loads(path.read_text())["cells"]
    statuses = {cell["status"] for cell in cells}  # what the scale leaves out is missing
    assert statuses & {"measured", "fact"}
    assert statuses <= {"measured", "fact", "cited", "missing"}
    assert all(cell["verdict"] is None for cell in cells), "a smoke scale judges nothing"


def test_every_table_has_a_smoke_scale():
    assert set(TABLES) == set(available())
