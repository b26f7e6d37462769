"""Every table that is shipped runs: the smoke scale of each table file, whole pipeline, no data."""

import functools
import gc
import json

import pytest

from jumpbench.tables.language.spec import available, load
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.selection import Selection

TABLES = [table for table in available() if "smoke" in load(table).scales]


def targets(node):
    """Names of all that a configuration constructs."""
    values = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    own = {node["_target_"]} if isinstance(node, dict) and "_target_" in node else set()
    return own.union(*map(targets, values))


def kinds(cell):
    """What the runs of a cell and those that they need are made of: stages and constructed names,
    not the numbers given to them."""
    runs = [step.config for run in cell.runs for step in run.with_needs()]
    return {(*config["stages"], *sorted(targets(config))) for config in runs}


@functools.cache
def covering():
    """{table: {column: rows}}: cells that have every kind of run of all tables at smoke scale, at
    least one of each table."""
    seen, chosen = set(), {}
    for table in TABLES:
        asked = [cell for cell in build(load(table), Selection("smoke")) if cell.asked]
        cells = sorted(((kinds(cell), cell) for cell in asked), key=lambda pair: -len(pair[0]))
        new = {}
        for made_of, cell in cells:  # whole chains first
            if not made_of <= seen:
                seen |= made_of
                rows = new.setdefault(cell.column.name, [])
                rows += [cell.row.name] * (cell.row.name not in rows)
        if not new:
            _, least = min(cells, key=lambda pair: len(pair[0]))
            new = {least.column.name: [least.row.name]}
        assert seen >= set().union(*(made_of for made_of, _ in cells))
        chosen[table] = new
    gc.freeze()  # what is planned stays: collections before each run pass it over
    return chosen


def made(table, capsys, *chosen):
    from jumpbench.cli.main import main

    status = main(["table", table, "scale=smoke", "trainer.accelerator=cpu", *chosen])
    output = capsys.readouterr()
    assert status == 0, output.out[-2000:] + output.err[-2000:]


def check(table, folder):
    path = folder / "outputs" / "tables" / table / "smoke" / "table.json"
    cells = json.loads(path.read_text())["cells"]
    statuses = {cell["status"] for cell in cells}  # what the scale leaves out is missing
    assert statuses & {"measured", "fact"}
    assert statuses <= {"measured", "fact", "cited", "missing", "partial"}
    # A break-even waits for chains that are not among the kinds that are made here.
    assert {c["metric"] for c in cells if c["status"] == "partial"} <= {"break_even"}
    assert all(cell["verdict"] is None for cell in cells), "a smoke scale judges nothing"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Tables that need the same trained model train it once."""
    return tmp_path_factory.mktemp("smoke")


@pytest.fixture
def elsewhere(shared, monkeypatch):
    monkeypatch.delenv("JUMPBENCH_DATA", raising=False)
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(shared / "outputs"))
    monkeypatch.chdir(shared)
    return shared


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_every_kind_of_run_of_every_table_is_made_at_smoke_scale(table, elsewhere, capsys):
    """One of each set of classes; what differs in numbers alone is the long test's."""
    for column, rows in covering()[table].items():
        made(table, capsys, f"rows={','.join(rows)}", f"columns={column}")
    check(table, elsewhere)


@pytest.mark.long
@pytest.mark.parametrize("table", TABLES)
def test_the_smoke_scale_of_every_table(table, elsewhere, capsys):
    made(table, capsys)
    check(table, elsewhere)


def test_every_table_has_a_smoke_scale():
    assert set(TABLES) == set(available())
