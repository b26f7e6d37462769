"""The documentation's site: built from pages that stand beside what they describe."""

import subprocess
import sys

import pytest

from jumpbench.paths import checkout

ROOT = checkout()
GUIDE = ["first-table", "own-energy", "own-prior-and-reward", "own-data", "own-method",
         "own-evaluation", "own-table", "results-in-python", "how-numbers-are-judged", "cluster",
         "datasets"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(ROOT is None, reason="needs a checkout")
def test_the_site_is_built_without_a_warning(tmp_path):
    """Strict: a link to a page or heading that there is not, or a docstring that cannot be read,
    is an error. No page asks for anything elsewhere."""
    pytest.importorskip("material", reason="needs pip install -e '.[docs]'")
    pytest.importorskip("mkdocstrings")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    for name in GUIDE:
        page = (tmp_path / "guide" / name / "index.html").read_text()
        assert len(page) > 4000 and 'src="http' not in page
    reference = (tmp_path / "reference/samplers/index.html").read_text()
    assert "jumpbench.samplers.clusters.wolff.Wolff" in reference
    assert (tmp_path / "sgdd/RESULTS/index.html").is_file()
    assert (tmp_path / "TABLES/index.html").is_file()
