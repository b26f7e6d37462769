"""The matrix of ranks over the leaderboard's tables: what is compared, in words and drawn."""

import dataclasses
import io
import re

import pytest
from PIL import Image

from jumpbench.tables.commands import rankpages, report_page
from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.judging.ranks import ranking
from jumpbench.tables.language.spec import load
from jumpbench.tables.views.rankings import in_markdown, lines, matrices, picture
from jumpbench.tables.views.view import View

ROWS = ["Parallel tempering", "Gibbs", "SMC", "UDNS", "MDNS", "LEAPS", "GFlowNet", "DASBS"]


def cells_of(column, errors, metric="energy_tv", n_seeds=3, perfect=0.02):
    return [
        Cell(row, column, metric, measured=error, perfect=perfect, n_seeds=n_seeds,
             status="measured")
        for row, error in errors.items()
    ]  # fmt: skip


def order(start=0.03):
    return {row: start * 2.0**k for k, row in enumerate(ROWS)}


@pytest.fixture(scope="module")
def views():
    """Twelve problems of three tables in the same order, and two posteriors."""
    sets, potts, glass = (load(f"leaderboard/{name}") for name in ("sets", "potts", "glass"))
    made = []
    for table, budget in ((sets, "80 s"), (potts, "80 s"), (glass, "20 s")):
        ended = [c for c in table.columns if c.name.endswith(f", {budget}")]
        columns = [c.name for c in ended if c.metrics is None][:6]  # not those of an optimum alone
        cells = [cell for column in columns for cell in cells_of(column, order())]
        short = [c.name for c in table.columns if c.name.endswith(", 5 s")]
        cells += cells_of(short[0], dict(reversed(order().items())) | {"Exact draws": 0.001})
        made.append(View(table, "medium", cells))
    posterior = load("leaderboard/posterior")
    two = {"SGDD": 0.1, "DPS": 0.3}
    cells = [
        c for column in ("Gaussian", "XOR") for c in cells_of(column, two, "tv", 1, perfect=0.2)
    ]
    return [*made, View(posterior, "paper", cells)]


def test_the_longest_budget_that_most_samplers_have_counts(views):
    (own, posterior) = matrices(views)
    assert own.title == "energy-law TV" and posterior.title == "TV"
    assert len(own.ranking.ranks) == 3 + 3 + 6
    assert "sets, 16 nodes, 80 s" in own.ranking.ranks
    assert list(own.ranking.mean) == ROWS and [*own.ranking.mean.values()] == [*range(1, 9)]
    assert own.ranking.p < 1e-10 and not own.few_seeds
    assert "12 problems" in own.words and "among themselves" not in own.words
    assert "do not differ from the best, Parallel tempering: Gibbs" in own.words
    # Both samplers of the posterior: 0.1 is below what exact draws score, 0.2.
    assert posterior.ranking.ranks["posterior, Gaussian"] == {"SGDD": 1, "DPS": 2}
    assert posterior.few_seeds and "some of one seed" in posterior.words
    assert "Too few problems and samplers" in posterior.words


def test_exact_draws_do_not_compete_and_errors_below_their_score_are_equal():
    table = load("leaderboard/sets")
    errors = {"Gibbs": 0.01, "SMC": 0.019, "UDNS": 0.5, "Exact draws": 0.005}
    (one,) = matrices([View(table, "medium", cells_of("16 nodes, 80 s", errors))])
    assert one.ranking.ranks["sets, 16 nodes, 80 s"] == {"Gibbs": 1.5, "SMC": 1.5, "UDNS": 3}
    assert matrices([View(table, "medium", cells_of("16 nodes, 80 s", {"Gibbs": 0.1}))]) == []
    assert matrices([View(load("sgdd/table2"), "small", [])]) == []
    assert matrices([]) == [] and in_markdown([]) == "" and picture([]) is None


def test_a_row_that_lacks_a_seed_is_not_ranked_and_unequal_numbers_of_samples_are_said():
    table = load("leaderboard/sets")
    cells = cells_of("16 nodes, 80 s", {"Gibbs": 0.1, "SMC": 0.2}, perfect=0.005)
    cells += cells_of("16 nodes, 80 s", {"UDNS": 0.05, "MDNS": 0.4})
    cells[-2] = dataclasses.replace(cells[-2], status="partial")
    (one,) = matrices([View(table, "medium", cells)])
    assert one.ranking.ranks["sets, 16 nodes, 80 s"] == {"Gibbs": 1, "SMC": 2, "MDNS": 3}
    assert "exact draws of the fewest would score up to 4 times" in one.words
    (alike,) = matrices([View(table, "medium", cells[:2])])
    assert "exact draws" not in alike.words


def test_a_sampler_that_diverged_is_the_last_and_one_that_was_not_made_has_no_rank():
    table = load("leaderboard/sets")
    cells = cells_of("16 nodes, 80 s", {"Gibbs": 0.1, "DASBS": 0.05, "UDNS": 0.05, "LEAPS": 0.05})
    for at, (status, note) in enumerate(
        [("partial", "training diverged by step 300"), ("partial", "1 of 3 seeds"), ("failed", "x")]
    ):
        cells[at + 1] = dataclasses.replace(cells[at + 1], status=status, note=note, n_seeds=1)
    (one,) = matrices([View(table, "medium", cells)])
    assert one.ranking.ranks["sets, 16 nodes, 80 s"] == {"Gibbs": 1, "DASBS": 2.5, "LEAPS": 2.5}
    assert "with a failed run is the last of its problem" in one.words and not one.few_seeds


def test_the_mean_says_of_how_many_samplers_it_is(views):
    """A sampler that lacks a problem moves the ranks of the others there, not their means."""
    (own, _) = matrices(views)
    of_one = {"first": {"Wolff": 0.1, "Gibbs": 0.2, "SMC": 0.3, "AIS": 0.4}}
    rest = {name: {"Gibbs": 0.2, "SMC": 0.3, "AIS": 0.4} for name in ("second", "third", "fourth")}
    some = dataclasses.replace(own, ranking=ranking(of_one | rest))
    assert lines(some.ranking)[-1] == ["mean rank of 3", "1.0", "2.0", "3.0", ""]
    assert "The 3 samplers that all problems have are ranked among themselves" in some.words


def test_modes_are_ranked_beside_energies_where_a_break_even_counts_them():
    table = load("leaderboard/sets")
    cells = cells_of("16 nodes, 80 s", {"Gibbs": 0.1, "UDNS": 0.05})
    cells += cells_of("16 nodes, 80 s", {"Gibbs": 0.1, "UDNS": 0.5}, "modes")
    energies, modes = matrices([View(table, "medium", cells)])
    assert modes.title == "mode imbalance" and "Ranks by mode imbalance at" in modes.words
    problem = "sets, 16 nodes, 80 s"
    assert energies.ranking.ranks[problem] == {"Gibbs": 2, "UDNS": 1}
    assert modes.ranking.ranks[problem] == {"Gibbs": 1, "UDNS": 2}


def test_words_and_picture(views, tmp_path):
    found = matrices(views)
    head, first, *_, mean = lines(found[0].ranking)
    assert head == ["problem", *ROWS] and first[1:] == [*"12345678"]
    assert mean == ["mean rank", *(f"{k}.0" for k in range(1, 9))]
    text = in_markdown(found)
    assert "| problem | Parallel tempering | Gibbs |" in text
    assert "| posterior, XOR | 1 | 2 |" in text and text.count("*mean rank*") == 2
    drawn = Image.open(io.BytesIO(picture(found)))
    assert drawn.format == "PNG" and drawn.width > 600


def test_they_stand_on_the_page_and_above_the_records(views, project, monkeypatch):
    monkeypatch.setattr(rankpages, "recorded_matrices", lambda slug: matrices(views))
    assert rankpages.ranks_section("leaderboard").startswith("## Ranks over all problems\n\nRanks")
    record = project / "reproduce" / "leaderboard" / "results" / "sets.medium.json"
    record.parent.mkdir(parents=True)
    rankpages.keep_ranks(record, "leaderboard")
    assert (record.parent / "ranks.png").stat().st_size < 200_000
    assert "](results/ranks.png)" in rankpages.ranks_section("leaderboard")
    monkeypatch.setattr(report_page, "shown", lambda: ["toy/coins"])
    monkeypatch.setattr(
        report_page, "_variants",
        lambda name, damaged: [report_page.Variant(views[0], "medium", "command")],
    )  # fmt: skip
    html = report_page.write_page().read_text()
    (section,) = re.findall(r'<section id="ranks"[^>]*>.*?</section>', html, re.DOTALL)
    assert "Friedman" in section and section.count("<tr>") == 1 + 3 + 1
