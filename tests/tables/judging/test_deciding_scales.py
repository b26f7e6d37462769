"""Where the suite's claims are decided: the paper's setting, or what can stand for it."""

import pytest

from jumpbench.paths import suite_root
from jumpbench.tables.commands.recorded import read_record, recorded_scales
from jumpbench.tables.commands.recorded_views import recorded_view
from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.judging.claims import evaluate
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.language.types import OWN, PAPERS

IDS = [i for i in available() if (suite_root() / "reproduce" / f"{i}.yaml").is_file()]
RECORDS = [(table_id, scale) for table_id in IDS for scale in recorded_scales(table_id)]


@pytest.mark.parametrize("table_id", IDS)
def test_a_scale_without_the_papers_setting_gives_a_reason(table_id):
    table = load(table_id)
    for claim in table.claims:
        for name, why in table.deciding(claim).items():
            scale = table.scales[name]
            if why in (PAPERS, OWN):
                assert scale.compared == (why == PAPERS)
            assert scale.kind != "miniature" or scale.decides, f"{claim.id}: {name}"
            said = why not in (PAPERS, OWN) and len(why) > 20
            assert name != "medium" or scale.decides or said, claim.id


@pytest.mark.parametrize(("table_id", "scale"), RECORDS)
def test_a_record_decides_by_a_measured_spread_at_its_own_scales_alone(table_id, scale):
    """One seed of each cell leaves everything open but what is exact, stands on a bound, or has its
    samples for replicates."""
    table, content = load(table_id), read_record(table_id, scale)
    for claim in recorded_view(table, content).claims:
        (written,) = (c for c in table.claims if c.id == claim["id"])
        assert claim["holds"] is None or scale in table.deciding(written)
    cells = [Cell.from_json(cell, "record") for cell in content["cells"]]
    exact = {row.name for row in table.rows if row.exact}
    exact |= {m.name for m in table.metrics.values() if m.exact}
    bounded = {m.name for m in table.metrics.values() if m.bounds and None not in m.bounds}
    if table.scales[scale].replicates:
        exact |= {m.name for m in table.metrics.values() if m.sample_std or m.share}
    drawn = [c for c in cells if not {c.row, c.metric} & (exact | bounded)]
    one_seed = [
        Cell(**{**vars(cell), "values": cell.values[:1]}) for cell in drawn if cell.has_number
    ]
    assert {claim["holds"] for claim in evaluate(table, one_seed, scale)} <= {None}


@pytest.mark.parametrize("table_id", ["dasbs/table2", "dasbs/table3"])
def test_another_lattice_and_equal_minutes_decide_nothing_of_dasbs(table_id):
    """Medium: 8x8 for 24x24 or 16x16, 8 minutes for every row where the paper has 0.5 to 17 h.

    What the paper claims, that is: claims of ours are about medium itself.
    """
    table = load(table_id)
    claims = [claim for claim in table.claims if claim.check is not None and not claim.ours]
    assert len(claims) >= 6
    assert all(set(table.deciding(claim)) == {"paper"} for claim in claims)
