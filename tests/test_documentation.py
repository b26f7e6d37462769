"""The documentation's site is built from docs/ and the pages beside what they describe."""

import re
import subprocess
import sys

import pytest

from documented import GUIDE, ROOT, text_of

PERSONS = ["README.md", "CONTRIBUTING.md", "data/README.md"]
MOST_WORDS = 25_000
pytestmark = pytest.mark.skipif(ROOT is None, reason="needs a checkout")


def test_a_person_reads_at_most_so_many_words():
    papers = [p.relative_to(ROOT).as_posix() for p in (ROOT / "reproduce").glob("*/README.md")]
    pages = [*PERSONS, *GUIDE, *papers]
    assert len(papers) >= 5 and sum(len(text_of(page).split()) for page in pages) <= MOST_WORDS


def test_the_readme_or_the_navigation_leads_to_every_page():
    listed = set(re.findall(r"^\s+- ([\w-]+\.md)$", text_of("mkdocs.yml"), re.MULTILINE))
    linked = set(re.findall(r"\]\(docs/([\w-]+\.md)\)", text_of("README.md")))
    names = {page.removeprefix("docs/") for page in GUIDE}
    assert names == linked and names - {"tables.md", "errata.md"} <= listed


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    """Strict: a link to a page or heading that there is not, or a docstring that cannot be read,
    is an error. No page asks for anything elsewhere."""
    pytest.importorskip("material", reason="needs pip install -e '.[docs]'")
    pytest.importorskip("mkdocstrings")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    for page in GUIDE:
        name = page.removeprefix("docs/").removesuffix(".md")
        html = (tmp_path / name / "index.html").read_text()
        assert len(html) > 4000 and 'src="http' not in html
    reference = (tmp_path / "reference/samplers/index.html").read_text()
    assert "jumpbench.samplers.clusters.wolff.Wolff" in reference
    for readme in (ROOT / "reproduce").glob("*/README.md"):
        page = tmp_path / "papers" / readme.parent.name / "RESULTS/index.html"
        assert page.is_file() == (readme.parent / "RESULTS.md").is_file()
    home = (tmp_path / "index.html").read_text()
    assert 'href="papers/sgdd/"' in home and 'src="papers/sgdd/results/' in home
