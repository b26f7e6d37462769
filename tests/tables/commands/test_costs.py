"""The letters that say what a table costs, against what its records took."""

import pytest

from jumpbench.paths import suite_root
from jumpbench.tables.commands.recorded import read_record, recorded_scales
from jumpbench.tables.language.spec import available, load

IDS = [i for i in available() if (suite_root() / "reproduce" / f"{i}.yaml").is_file()]
HOUR = 3600.0


@pytest.mark.parametrize("table_id", IDS)
def test_every_scale_has_a_letter_and_what_took_hours_is_not_called_an_hour(table_id):
    """A is up to an hour on a core; a record says what its runs and what they need took."""
    table = load(table_id)
    cost = table.cost if isinstance(table.cost, dict) else dict.fromkeys(table.scales, table.cost)
    letters = {scale: cost[scale] for scale in table.scales}
    assert set("".join(letters.values())) <= set("ABCD") and all(letters.values())
    for scale in recorded_scales(table_id):
        origin = read_record(table_id, scale)["provenance"]
        rows = sum(row["seconds"] * row["runs"] for row in origin.get("seconds", []))
        assert letters[scale] != "A" or max(origin["run_seconds"], rows) <= HOUR, scale
