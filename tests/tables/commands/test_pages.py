"""What the pages of papers say of their records."""

import re
from functools import cache

import pytest

from jumpbench.paths import reproduce_dir
from jumpbench.tables.commands.agreement import agreement
from jumpbench.tables.commands.pages import (
    anchor,
    is_paper,
    paper_list,
    papers,
    summaries,
    tables_of_the_pages,
)
from jumpbench.tables.commands.recorded import read_record, recorded_scales
from jumpbench.tables.commands.recorded_views import recorded_view
from jumpbench.tables.language import spec

load = cache(spec.load)
list_of_papers = cache(paper_list)  # every record is judged in it


@cache
def view(table_id, scale):
    return recorded_view(load(table_id), read_record(table_id, scale))


@pytest.mark.parametrize("slug", papers())
def test_a_table_is_listed_once_with_all_its_scales_and_each_verdict_once(slug):
    text = summaries(slug)
    names = [name for name in tables_of_the_pages(slug) if recorded_scales(name)]
    assert len(re.findall(r"^- ", text, re.MULTILINE)) == len(names)
    verdicts = 0
    for name in names:
        seen = set()
        for scale in recorded_scales(name):
            assert text.count(f"(RESULTS.md#{anchor(name, scale)})") == 1
            claims = view(name, scale).claims
            seen |= {(c["id"], c["holds"]) for c in claims if c["holds"] is not None}
        verdicts += len(seen)
    assert len(re.findall(r"^  - \*\*", text, re.MULTILINE)) == verdicts


@pytest.mark.parametrize("slug", papers())
def test_claims_that_the_paper_does_not_make_are_checks_of_our_own(slug):
    printed = [table for table in map(load, tables_of_the_pages(slug)) if table.in_print]
    claims = [claim for table in printed for claim in table.claims]
    (line,) = (line for line in list_of_papers(reproduce_dir()).splitlines() if f"({slug}/" in line)
    assert all(claim.scales for claim in claims if claim.ours)
    if printed:
        assert f"of {sum(not claim.ours for claim in claims)} claims " in line
    holding = 0  # at whatever scale: a larger one may have been made in part
    for table in map(load, tables_of_the_pages(slug)):
        views = [view(table.id, scale) for scale in recorded_scales(table.id)]
        for claim in table.claims:
            said = [one["holds"] for seen in views for one in seen.claims if one["id"] == claim.id]
            decided = [holds for holds in said if holds is not None]
            holding += (claim.ours or not table.in_print) and decided[-1:] == [True]
    told = re.search(r"of our own checks (\d+) holds?\b", line)
    assert not printed or int(told[1] if told else 0) == holding


def test_a_setting_of_ours_is_not_counted_as_the_papers():
    """DNFS's graphs are recorded with a small network, which decides a claim or two."""
    for slug in filter(is_paper, papers()):
        kinds = {
            table_id: {load(table_id).scales[scale].kind for scale in recorded_scales(table_id)}
            for table_id in tables_of_the_pages(slug)
            if load(table_id).in_print is not None
        }
        count = sum("paper setting" in each for each in kinds.values())
        said = f"{count or 'none'} of {len(kinds)} tables {'recorded ' * bool(count)}in the"
        assert agreement(tables_of_the_pages(slug)).startswith(said)


@pytest.mark.parametrize("slug", papers())
def test_checks_of_ours_that_are_open_at_any_scale_are_counted(slug):
    """What a smaller scale alone decides is open there, though a larger one has a record."""
    names = [name for name in tables_of_the_pages(slug) if recorded_scales(name)]
    waiting = 0
    for name in names:
        table = load(name)
        for claim in table.claims:
            if claim.ours or table.in_print is None:
                said = [c for s in recorded_scales(name) for c in view(name, s).claims]
                said = [c for c in said if c["id"] == claim.id]
                decided = any(c["holds"] is not None for c in said)
                waiting += not decided and any(c["detail"].startswith("open") for c in said)
    counted = re.search(r"of our own checks .*?(\d+) (?:is|are) open", agreement(names))
    assert waiting == (int(counted[1]) if counted else 0)


@pytest.mark.parametrize(
    ("slug", "printed"),
    [
        ("blackout", "Figures 1, 2a, 2b, 3 to 13"),
        ("dnfs", "Figures 1, 3 to 5, 7, 9, 11 to 15, 17"),
        ("sgdd", "Figures 1 to 8"),
    ],
)
def test_figures_that_are_drawn_with_a_table_are_listed(slug, printed):
    (line,) = (line for line in list_of_papers(reproduce_dir()).splitlines() if f"({slug}/" in line)
    assert f"; {printed};" in line
