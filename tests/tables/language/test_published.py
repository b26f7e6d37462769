"""Every published number in a table file is the paper's, and none is left out."""

from functools import cache
from pathlib import Path

import pytest
import yaml

from jumpbench.paths import suite_root
from jumpbench.tables.language.spec import available, load

FACTS = Path(__file__).parents[2] / "facts"
IDS = [i for i in available() if (suite_root() / "reproduce" / f"{i}.yaml").is_file()]


@cache
def of_paper(slug):
    file = FACTS / f"{slug}.yaml"  # none of what is no paper
    listed = yaml.safe_load(file.read_text())["tables"] if file.is_file() else []
    return {table["id"]: table for table in listed}


def facts(table_id):
    slug, name = table_id.split("/")
    return of_paper(slug).get(name)


@pytest.mark.parametrize("table_id", IDS)
def test_published_numbers_are_the_papers(table_id):
    table, known = load(table_id), facts(table_id)
    if known is None:
        assert not table.published, f"{table_id} publishes numbers that no fact supports"
        return
    expected = {
        (cell["metric"], cell["row"], cell["column"]): (cell["value"], cell.get("std"))
        for cell in known["cells"]
        if isinstance(cell["value"], (int, float)) and not isinstance(cell["value"], bool)
    }
    printed = {
        (metric, row, column): table.paper(row, column, metric)
        for metric, by_row in table.published.items()
        for row, by_column in by_row.items()
        for column in by_column
    }
    printed = {key: value for key, value in printed.items() if isinstance(value[0], (int, float))}
    assert printed == expected


@pytest.mark.parametrize("table_id", IDS)
def test_published_rows_that_are_ours_do_not_exist(table_id):
    table = load(table_id)
    ours = {row.name for row in table.rows if row.ours}
    for metric, by_row in table.published.items():
        assert not ours & set(by_row), metric
