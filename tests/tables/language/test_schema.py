"""The JSON schema of table files says what jumpbench itself reads."""

import copy

import pytest
import yaml

from jumpbench.paths import checkout, suite_root, table_ids
from jumpbench.tables.language import schema

FILES = [suite_root() / "reproduce" / f"{name}.yaml" for name in table_ids()]


@pytest.mark.skipif(checkout() is None, reason="needs a checkout")
def test_the_file_beside_the_tables_is_the_schema_of_today():
    path = suite_root() / "reproduce" / schema.FILE
    assert path.read_text() == schema.schema_text(), "renew it: jumpbench report --readme"


def test_every_table_fits_it_and_a_mistake_does_not():
    validator = pytest.importorskip("jsonschema").Draft202012Validator(schema.table_schema())
    contents = [yaml.safe_load(path.read_text()) for path in FILES]
    for path, content in zip(FILES, contents, strict=True):
        assert not [error.message for error in validator.iter_errors(content)], path
    whole = contents[
        [path.stem == "table2" and path.parent.name == "sgdd" for path in FILES].index(True)
    ]
    for change in (
        lambda table: table.pop("rows"),
        lambda table: table["metrics"]["tv"].update(better="lowest"),
        lambda table: table["rows"][0].update(overides=[]),
        lambda table: table["published"]["tv"]["SGDD"].update({"D=2": [1]}),
        lambda table: table["scales"].update(huge={}) or table["scales"]["small"].update(seeds=0),
        lambda table: table.update(id="x"),
    ):
        wrong = copy.deepcopy(whole)
        change(wrong)
        assert list(validator.iter_errors(wrong)), change
