"""No number of a record is older than the code that makes it."""

import pytest

from jumpbench.errors import UserError
from jumpbench.paths import suite_root, table_ids
from jumpbench.tables.commands.recorded import read_record, recorded_runs, recorded_scales
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import build, unique_runs
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.runs.git import git

PLACES = [(table, scale) for table in table_ids() for scale in recorded_scales(table)]


@pytest.mark.slow
@pytest.mark.skipif(git(suite_root(), "rev-parse", "HEAD") is None, reason="no checkout")
def test_no_recorded_run_is_older_than_its_code():
    """Who changes code that decides numbers records again, or lists the commit in
    ``reproduce/same_numbers.yaml`` with a test."""
    asked, older = 0, []
    for table, scale in PLACES:
        known, content = recorded_runs(table, scale), read_record(table, scale)
        seeds = str(sorted(content["seeds"])).replace(" ", "")
        overrides = tuple(content.get("overrides") or ())
        try:
            grid = build(load(table), Selection(scale, seeds, overrides=overrides))
        except UserError:
            continue  # pages say that such a record has other settings
        runs = {run.id: run for run in unique_runs(grid) if run.id in known.runs}
        for origin in known.origins(list(runs.values())):
            asked += len(origin["runs"])
            older += [name for name in origin["runs"] if known.is_outdated(runs[name], origin)]
    assert asked > 3000 and not older, older[:5]
