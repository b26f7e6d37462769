"""The JSON schema of table files, from the types that check them, for editors."""

import copy
import json
from typing import Any

from pydantic import TypeAdapter

from jumpbench.tables.language.malformed import GIVEN
from jumpbench.tables.language.types import Table

FILE = "table.schema.json"
_NUMBER = {
    "description": "as the paper prints it: the last digit says how it was rounded",
    "anyOf": [
        {"type": ["number", "string", "null"]},
        {
            "type": "object",
            "properties": {"value": {"type": ["number", "string"]}, "std": {"type": "number"}},
            "required": ["value"],
            "additionalProperties": False,
        },
    ],
}


def table_schema() -> dict[str, Any]:
    """What a table file may hold; names that must match are left to jumpbench itself."""
    schema = copy.deepcopy(TypeAdapter(Table).json_schema())
    properties, types = schema["properties"], schema["$defs"]
    for key in GIVEN:  # said by where the file lies
        del properties[key]
    del types["Published"]
    properties["published"] = _nested("metric", _nested("row", _nested("column", _NUMBER)))
    for kind, key in (("Metric", "metrics"), ("Scale", "scales")):  # their keys are their names
        del types[kind]["properties"]["name"]
        types[kind]["required"] = [n for n in types[kind].get("required", ()) if n != "name"]
        properties[key]["additionalProperties"] = _or_null({"$ref": f"#/$defs/{kind}"})
    for key in ("claims", "figures", "reading", "data", "overrides"):
        properties[key] = _or_null({k: v for k, v in properties[key].items() if k != "default"})
    one = properties["columns"]["items"]
    several = {"type": "array", "minItems": 1, "items": one}
    crossed = {
        "description": "every choice of one column from each list",
        "type": "object",
        "properties": {"cross": {"type": "array", "items": several}},
        "required": ["cross"],
        "additionalProperties": False,
    }
    properties["columns"]["items"] = {"anyOf": [one, crossed]}
    needed = [key for key in schema.pop("required") if key not in GIVEN]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "A table file of jumpbench",
        "anyOf": [{"required": ["extends"]}, {"required": needed}],
    }


def _nested(of: str, inner: dict[str, Any]) -> dict[str, Any]:
    return {"description": f"by {of}", "type": "object", "additionalProperties": inner}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def schema_text() -> str:
    return json.dumps(table_schema(), indent=1, ensure_ascii=False) + "\n"
