"""The leaderboard's tables: equal budgets, networks of one size, exact laws behind every column."""

import json
from statistics import fmean

import pytest

from jumpbench.evaluations.energy_classes import floor_spread
from jumpbench.evaluations.exact_laws import ExactLaws, check_known
from jumpbench.paths import checkout, reproduce_dir
from jumpbench.tables.commands.pages import paper_list
from jumpbench.tables.commands.rankpages import recorded_matrices
from jumpbench.tables.commands.recorded import read_record, recorded_scales
from jumpbench.tables.commands.run_seconds import estimate
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.planning.gate import construct
from jumpbench.tables.planning.grid import build, unique_runs
from jumpbench.tables.planning.selection import Selection

TABLES = [n for n in available() if n.startswith("leaderboard/") and n != "leaderboard/tuning"]
TIMED = [name for name in TABLES if name != "leaderboard/posterior"]
BUDGETS = {5, 20, 80, 320}


def cells(table):
    """{(row, column): run} at the scale of all budgets."""
    grid = build(load(table), Selection("paper", seeds="1"))
    return {(c.row.name, c.column.name): c.runs[0] for c in grid if c.asked}


def test_six_problems():
    names = {name.split("/")[1] for name in TABLES}
    assert names == {"ising", "potts", "glass", "sets", "coupled", "posterior"}


@pytest.mark.parametrize("table", TIMED)
def test_every_column_gives_every_row_the_same_problem_and_time(table):
    """Of a warm start: the hotter run and this one together; of energies those of DNFS' samples, of
    51 tables of 37 ratios each, too."""
    seconds = {c.name: c.vars.get("seconds") for c in load(table).columns}
    assert set(seconds.values()) - {None} == BUDGETS
    rows, problems = set(), {}
    for (row, column), run in cells(table).items():
        problem = run.config["method"]["target"]
        assert problem == problems.setdefault(column, problem), (row, column)
        assert problem == run.config["evaluation"]["target"]
        spent = [one.config["budget"]["seconds"] for one in run.with_needs()]
        if seconds[column] is None:
            samples = 2048 * 51 * 37 if "fit" in run.config["stages"] else 0
            energies = run.config["budget"]["energy_evaluations"] + samples
            assert spent == [None] and energies == pytest.approx(5.868e6, rel=1e-3)
            continue
        assert sum(spent) == seconds[column], (row, column)
        assert len(spent) == (2 if row == "DASBS (warm start)" else 1)
        if row != "Exact draws" and "fit" not in run.config["stages"]:
            assert run.config["method"]["seconds"] == seconds[column]
        rows.add(row)
    assert rows == {row.name for row in load(table).rows}


@pytest.mark.parametrize("table", TIMED)
def test_learned_samplers_have_networks_of_about_a_hundred_thousand_parameters(table):
    """Those of the largest instance between 60,000 and 140,000 each; and all laws are known."""
    runs = cells(table)
    last = [c.name for c in load(table).columns if c.vars and c.metrics is None][-1]
    trained = 0
    for (row, column), run in runs.items():
        if column != last:
            continue
        method = construct(run.config["method"], "method")
        check_known(method.target)
        networks = [m for name, m in method.named_modules() if name.split(".")[-1] == "network"]
        if "fit" not in run.config["stages"]:
            assert not networks
            continue
        trained += 1
        sizes = [sum(p.numel() for p in network.parameters()) for network in networks]
        assert sizes and all(60_000 < size < 140_000 for size in sizes), (row, sizes)
    assert trained == (8 if table == "leaderboard/glass" else 9)  # no warm start in its last column


def test_leaps_is_larger_on_long_states_as_the_readme_says():
    grid = build(load("leaderboard/sets"), Selection("medium", "1", "LEAPS", "40 nodes*"))
    (run,) = unique_runs(grid)
    method = construct(run.config["method"], "method")
    size = sum(p.numel() for p in method.network.parameters())
    text = (reproduce_dir() / "leaderboard/README.md").read_text()
    assert f"{size:,} on 40 nodes" in text


def test_readings_say_what_ais_and_smc_take_of_a_budget():
    shares = [
        value["value"] / float(cell["column"].split(", ")[-1].removesuffix(" s"))
        for name in TIMED
        for cell in read_record(name, "medium")["cells"]
        if cell["row"] in ("AIS", "SMC") and cell["metric"] == "seconds"
        and cell["column"].endswith(" s")
        for value in cell["values"]
    ]  # fmt: skip
    low, high, mean = (100 * of(shares) for of in (min, max, fmean))
    words = f"take {low:.0f} to {high:.0f} % of it, {mean:.0f} % on average"
    for name in TIMED:
        assert any(words in line for line in load(name).reading), (name, words)


def test_a_plan_takes_the_budgets_for_the_price():
    grid = build(load("leaderboard/coupled"), Selection("small"))
    runs = unique_runs(grid)
    expected = estimate("leaderboard/coupled", "small", grid, [run.hash for run in runs])
    assert not expected.unknown and set(expected.source.values()) == {"by their budgets"}
    for run in runs:
        assert expected.seconds[run.hash] == run.config["budget"]["seconds"]


def test_a_folder_without_a_printed_number_is_no_paper():
    """The page has a line for each paper, and a sentence for the leaderboard."""
    lines = paper_list(reproduce_dir().parent).splitlines()
    rows = [line for line in lines if line.startswith("| [")]
    assert len(rows) == 5 and not any("leaderboard" in row for row in rows)
    assert lines[-2] == "" and lines[-1].startswith(
        "[Leaderboard](reproduce/leaderboard/README.md)"
    )
    assert "(7 of our own)" in lines[-1]


def test_its_claims_are_ours_and_medium_has_all_their_cells():
    """Of each claim that medium decides, so that three seeds can decide it there."""
    decided = {}
    for name in TABLES:
        table = load(name)
        assert table.in_print is None and not table.published
        chosen = table.scales["medium" if name in TIMED else "paper"]
        for claim in table.claims:
            assert claim.check is not None
            if chosen.name not in table.deciding(claim):
                continue
            decided.setdefault(claim.id, []).append(name.split("/")[1])
            for kind, at in claim.check.parts():
                columns = at.named_columns if kind == "best" else (at.left.column,)
                assert set(columns) <= set(chosen.only_columns or columns), (name, claim.id)
    assert decided == {
        "tempering-best": ["glass", "ising", "potts"], "modes-lost": ["ising", "potts"],
        "tempering-best-late": ["glass", "ising"], "pays-off": ["ising"],
        "pays-off-late": ["ising"], "log-z": ["ising"], "consistent-best": ["posterior"],
    }  # fmt: skip


@pytest.mark.parametrize("table", TIMED)
def test_break_evens_know_the_spread_of_exact_draws(table):
    """Of every problem, rounded up."""
    loaded = load(table)
    stated = loaded.metrics["break_even"].break_even.spreads
    asked = set()
    for (_, column), run in cells(table).items():
        at = next(c for c in loaded.columns if c.name == column)
        problem = at.vars.get("problem")
        if problem in asked or "break_even" not in (at.metrics or ["break_even"]):
            continue
        asked.add(problem)
        exact = ExactLaws(construct(run.config["method"]["target"], "target"))
        found = [floor_spread(exact.energy_law), floor_spread(exact.mode_law)]
        pairs = zip(stated[problem], found, strict=True)
        assert all(-1e-3 < s - x < 0.02 for s, x in pairs), (problem, found)
    assert asked == {*stated}


@pytest.mark.skipif(checkout() is None, reason="needs the README of a checkout")
def test_the_readme_names_those_that_lead_the_ranks():
    text = (checkout() / "reproduce/leaderboard/README.md").read_text()
    assert "parallel tempering, AIS and SMC lead" in text and "LEAPS is the first of the" in text
    found = [m for m in recorded_matrices("leaderboard") if m.timed]
    learned = {r.name for r in load("leaderboard/ising").rows if "break_even" in r.metrics}
    assert [m.title for m in found] == ["energy-law TV", "mode imbalance"]
    for matrix in found:
        names = list(matrix.ranking.mean)
        assert {*names[:3]} == {"Parallel tempering", "AIS", "SMC"}
        assert next(name for name in names if name in learned) == "LEAPS"


def test_no_sampler_is_tuned_on_the_leaderboards_own_problems():
    """Three rates for each trained sampler; every problem is another one than those judged."""
    judged = {
        json.dumps(run.config["method"]["target"], sort_keys=True)
        for table in TIMED
        for run in cells(table).values()
    }
    tried = cells("leaderboard/tuning")
    for run in tried.values():
        assert json.dumps(run.config["method"]["target"], sort_keys=True) not in judged
    names = [row.rpartition(", rate ")[0] for row, column in tried if column == "machine 7"]
    trained = {row.name for row in load("leaderboard/coupled").rows if "break_even" in row.metrics}
    assert {*names} == trained - {"DASBS (warm start)", "DASBS (guided)"}
    assert all(names.count(name) == 3 for name in names)


@pytest.mark.skipif(
    "small" not in recorded_scales("leaderboard/tuning"), reason="the tuning is not recorded"
)
def test_the_tables_use_the_rate_with_the_lowest_mean_error():
    best = {}
    for cell in read_record("leaderboard/tuning", "small")["cells"]:
        name, _, rate = cell["row"].rpartition(", rate ")
        best.setdefault(name, {}).setdefault(float(rate), []).append(cell["measured"])
    for name, rates in best.items():
        mean = {r: sum(e) / len(e) for r, e in rates.items() if None not in e}
        for table in TIMED:
            run = next(r for (row, _), r in cells(table).items() if row == name)
            method = run.config["method"]
            optimizer = method.get("optimizer") or method["controller"]["optimizer"]
            assert optimizer["lr"] == min(mean, key=mean.get), (name, table)
