"""What the pages of papers say of their records."""

import re

import pytest

from jumpbench.tables.commands.pages import anchor, papers, summaries, tables_of_the_pages
from jumpbench.tables.commands.recorded import read_record, recorded_scales, recorded_view
from jumpbench.tables.language.spec import load


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
            view = recorded_view(load(name), read_record(name, scale))
            seen |= {(c["id"], c["holds"]) for c in view.claims if c["holds"] is not None}
        verdicts += len(seen)
    assert len(re.findall(r"^  - \*\*", text, re.MULTILINE)) == verdicts
