"""From how many samples on training pays: closed forms, and cells of a table."""

import dataclasses
import json
import math
from pathlib import Path

import pytest
import torch
from pydantic import TypeAdapter

from jumpbench.errors import UserError
from jumpbench.evaluations.energy_classes import floor_spread
from jumpbench.tables.judging.break_even import Budget, Limit, in_words
from jumpbench.tables.judging.break_even import break_even as of_errors
from jumpbench.tables.judging.break_even_cells import with_break_even
from jumpbench.tables.judging.cells import Cell, Value, uncertainty
from jumpbench.tables.judging.claims import evaluate
from jumpbench.tables.language.checks import Check
from jumpbench.tables.language.metric import TWO_CLASSES
from jumpbench.tables.language.spec import load, parse
from jumpbench.tables.language.types import Claim
from jumpbench.tables.views.layout import cell_text

CHAIN = Budget((0.02,), setup=2.0, rate=100.0)
EXPECTED = 78 / (1 / 100 - 1 / 1000)


def break_even(learned, chains, floor=0.0, delta=0.0):
    return of_errors(learned, chains, [Limit(floor, delta)])


def test_two_lines_of_cost_cross():
    learned = Budget((0.02,), 80.0, 1000.0)
    n = break_even([learned], [CHAIN])
    assert n == pytest.approx(EXPECTED)
    assert 80 + n / 1000 == pytest.approx(2 + n / 100)
    assert break_even([Budget((0.02,), 1.0, 1000.0)], [CHAIN]) == 0
    assert break_even([Budget((0.02,), 1.0, 100.0)], [CHAIN]) == 0  # equally fast and earlier
    assert break_even([Budget((0.02,), 3.0, 100.0)], [CHAIN]) == math.inf
    # At last the chain is ahead.
    assert break_even([Budget((0.02,), 1.0, 99.0)], [CHAIN]) == math.inf


def test_only_chains_of_equal_error_are_asked_and_a_floor_above_theirs_never_pays():
    learned, hasty = Budget((0.02,), 80.0, 1000.0), Budget((0.3,), 0.1, 1e6)
    assert break_even([learned], [CHAIN, hasty]) == pytest.approx(EXPECTED)
    slow = Budget((0.02,), 20.0, 200.0)
    late = 60 / (1 / 200 - 1 / 1000)
    assert break_even([learned], [CHAIN, slow]) == pytest.approx(max(EXPECTED, late))
    worse = dataclasses.replace(learned, errors=(0.05,))
    assert break_even([worse], [CHAIN]) == math.inf
    assert break_even([worse], [CHAIN], delta=0.03) == pytest.approx(EXPECTED)
    assert break_even([worse], [CHAIN], floor=0.06) == pytest.approx(EXPECTED)
    better = dataclasses.replace(learned, errors=(0.01,))
    assert break_even([better], [CHAIN]) == 0  # no chain gets there
    soon = Budget((0.05,), 5.0, 1000.0)  # too wrong to count, the longer budget decides
    assert break_even([soon, learned], [CHAIN]) == pytest.approx(EXPECTED)


def test_every_error_counts():
    chain = Budget((0.02, 0.01), 2.0, 100.0)
    limits = [Limit(0.02, 0.01), Limit(0.01, 0.02)]
    good, one_sided = Budget((0.02, 0.03), 80.0, 1000.0), Budget((0.02, 0.5), 80.0, 1000.0)
    assert of_errors([good], [chain], limits) == pytest.approx(EXPECTED)
    assert of_errors([one_sided], [chain], limits) == math.inf  # a mode is missing
    stuck = Budget((0.02, 0.5), 0.1, 1e6)  # a quick chain in one mode is not of equal error
    assert of_errors([good], [chain, stuck], limits) == pytest.approx(EXPECTED)


NAMES = ("energy_tv", "modes", "setup", "rate", "break_even")


def made(row, column, *by_seed):
    """Cells of a row with (error, setup, rate) for every seed, as they are read from runs; its
    modes are balanced."""
    for name, at in zip(NAMES, (0, None, 1, 2, 1), strict=True):
        values = [
            Value(seed, 0.0 if at is None else numbers[at], f"x/{row}-{seed}")
            for seed, numbers in by_seed
        ]
        if row != "Gibbs" or name != "break_even":
            yield Cell(row, column, name, measured=1.0, values=values, status="measured",
                       perfect=0.02, n_seeds=len(values), n_samples=2048)  # fmt: skip


SHORT, LONG, OTHER = "machine 0, 5 s", "machine 0, 80 s", "machine 1, 5 s"


@pytest.fixture(scope="module")
def table():
    return load("leaderboard/coupled")


def found(table, cells):
    return {(c.row, c.column): c for c in with_break_even(table, cells) if c.metric == NAMES[-1]}


def test_a_cell_has_the_budgets_up_to_its_own_of_its_problem(table):
    cells = [
        *made("Gibbs", SHORT, (0, (0.02, 2.0, 100.0))),
        *made("Gibbs", LONG, (0, (0.02, 40.0, 4000.0))),
        *made("Gibbs", OTHER, (0, (0.001, 1.0, 1e9))),
        *made("DASBS", SHORT, (0, (0.5, 5.0, 1000.0))),
        *made("DASBS", LONG, (0, (0.02, 80.0, 1000.0))),
        *made("UDNS", SHORT, (0, (0.0287, 5.0, 500.0))),
        *made("UDNS", LONG, (0, (0.4, 80.0, 5000.0))),
    ]
    cells = found(table, cells)
    assert in_words([v.value for v in cells["DASBS", SHORT].values]) == "never"
    # The long chain is faster than the learned sampler and of the same error.
    assert cells["DASBS", LONG].measured == 12
    n = 3 / (1 / 100 - 1 / 500)  # within twice the deviation of exact draws, 0.22 of the floor
    assert cells["UDNS", SHORT].measured == pytest.approx(math.log10(n))
    assert cells["UDNS", LONG].measured == 12  # the short training is slower than the long chain


@pytest.mark.parametrize("names", [NAMES[:4], ["modes"], ["rate"]])
@pytest.mark.parametrize("status", ["failed", "partial", "missing", "data-missing"])
def test_a_chain_without_a_number_leaves_the_comparison_in_part(table, status, names):
    """Without it the trained sampler would seem to pay the earlier."""
    chain = ((seed, (0.02, 2.0, 100.0)) for seed in range(3))
    learned = ((seed, (0.02, 80.0, 1000.0)) for seed in range(3))
    cells = [*made("Gibbs", LONG, *chain), *made("MDNS", LONG, *learned)]
    (whole,) = found(table, cells).values()
    assert whole.status == "measured" and whole.note is None
    lost = [
        dataclasses.replace(
            cell,
            row="Metropolis",
            **({"values": [], "status": status} if cell.metric in names else {}),
        )
        for cell in cells
        if cell.row == "Gibbs"
    ]
    (cell,) = found(table, [*cells, *lost]).values()
    assert cell.status == "partial"
    assert cell.note == f"Metropolis ({LONG}), which it is compared with, is {status}"


def test_the_interval_is_over_seeds_and_one_seed_has_none(table):
    chain = ((seed, (0.02, 2.0, 100.0)) for seed in range(3))
    rates = [200.0, 1000.0, 90.0]
    learned = [(seed, (0.02, 80.0, rate)) for seed, rate in enumerate(rates)]
    cells = [*made("Gibbs", LONG, *chain), *made("MDNS", LONG, *learned)]
    (cell,) = found(table, cells).values()
    metric = table.metrics["break_even"]
    low, middle = EXPECTED, 78 / (1 / 100 - 1 / 200)
    powers = [math.log10(middle), math.log10(low), 12.0]
    assert [value.value for value in cell.values] == pytest.approx(powers)
    assert cell.n_seeds == 3 and cell.status == "measured"
    assert cell_text(cell, metric).measured == "1.6e+04 (8.7e+03 to never)"
    (one,) = found(table, [*made("Gibbs", LONG, (0, (0.02, 2.0, 100.0))),
                           *made("MDNS", LONG, learned[1])]).values()  # fmt: skip
    assert one.status == "missing" and not one.values  # no chain of its seed
    (one,) = found(table, [*made("Gibbs", LONG, (1, (0.02, 2.0, 100.0))),
                           *made("MDNS", LONG, learned[1])]).values()  # fmt: skip
    assert cell_text(one, metric).measured == "8.7e+03" and one.std is None


def test_unreliable_training_buys_no_tolerance_but_an_unreliable_chain_does(table):
    errors = [0.02, 0.4, 0.02]
    steady = [(seed, (0.02, 2.0, 100.0)) for seed in range(3)]
    learned = [(seed, (error, 80.0, 1000.0)) for seed, error in enumerate(errors)]
    (cell,) = found(table, [*made("Gibbs", LONG, *steady), *made("MDNS", LONG, *learned)]).values()
    assert [v.value == 12 for v in cell.values] == [False, True, False]
    apart = [(seed, (error, 2.0, 100.0)) for seed, error in enumerate([0.02, 0.4, 0.4])]
    (cell,) = found(table, [*made("Gibbs", LONG, *apart), *made("MDNS", LONG, *learned)]).values()
    assert [v.value == 12 for v in cell.values] == [False, False, False]


def test_a_chain_is_as_fast_as_at_the_budget_that_keeps_its_states_closest(table):
    cells = [
        *made("Gibbs", SHORT, (0, (0.3, 2.0, 4000.0))),
        *made("Gibbs", LONG, (0, (0.02, 40.0, 250.0))),
        *made("MDNS", LONG, (0, (0.02, 80.0, 1000.0))),
    ]
    assert found(table, cells)["MDNS", LONG].measured == 12


def test_cells_that_are_not_there_are_left_as_they_are(table):
    missing = Cell("DASBS", LONG, "break_even")
    assert with_break_even(table, [missing]) == [missing]
    plain = dataclasses.replace(table, metrics={"energy_tv": table.metrics["energy_tv"]})
    assert with_break_even(plain, [missing]) == [missing]


@pytest.mark.parametrize(("powers", "holds"), [((3, 3.1, 3.2), None), ((3,) * 6, True),
                                               ((12,) * 6, False), ((12, 11.9, 11.8), None),
                                               ((12, 12, 12), None), ((0, 0, 0), None),
                                               ((4, 4.5, 12), None), ((3,), None)])  # fmt: skip
def test_a_claim_compares_powers_of_ten(table, powers, holds):
    """Trainings are counted: of six that agree not all would by chance, of three they might."""
    check = {"left": {"row": "MDNS", "column": LONG, "metric": "break_even"}, "op": "<", "right": 5}
    claim = Claim("c", "text", TypeAdapter(Check).validate_json(json.dumps({"compare": check})))
    claimed = dataclasses.replace(table, claims=(claim,))
    values = [Value(seed, float(power), "x") for seed, power in enumerate(powers)]
    cell = Cell("MDNS", LONG, "break_even", values=values, status="measured", n_samples=2048,
                measured=sum(powers) / len(powers), n_seeds=len(values))  # fmt: skip
    (result,) = evaluate(claimed, [cell], "medium")
    assert result["holds"] is holds, result
    metric = table.metrics["break_even"]
    assert (uncertainty(metric, list(powers), 2048, None)[0] is None) is (len({*powers}) == 1)


def test_the_tolerance_is_twice_the_deviation_of_exact_draws(table):
    """That of the problem in the table file, and of two classes where it states none."""
    near, above = ((seed, (0.0287 + 0.0002 * k, 80.0, 1000.0)) for k, seed in enumerate((0, 0)))
    chain = [*made("Gibbs", LONG, (0, (0.02, 2.0, 100.0)))]
    assert found(table, [*chain, *made("MDNS", LONG, near)])["MDNS", LONG].measured < 12
    assert found(table, [*chain, *made("MDNS", LONG, above)])["MDNS", LONG].measured == 12
    chain_of_other = made("Gibbs", OTHER, (0, (0.02, 2.0, 100.0)))
    above = made("MDNS", OTHER, (0, (0.0299, 80.0, 1000.0)))
    assert found(table, [*chain_of_other, *above])["MDNS", OTHER].measured < 12
    metric = table.metrics["break_even"]
    bare = dataclasses.replace(metric, break_even=dataclasses.replace(
        metric.break_even, spreads=None))  # fmt: skip
    wide = dataclasses.replace(table, metrics=table.metrics | {"break_even": bare})
    for error, never in ((0.0502, False), (0.0503, True)):  # 0.02 (1 + 2 * 0.7555)
        learned = made("MDNS", LONG, (0, (error, 80.0, 1000.0)))
        cell = found(wide, [*chain, *learned])["MDNS", LONG]
        assert (cell.measured == 12) is never


def test_two_classes_have_the_largest_deviation():
    for law in ([0.5, 0.5], [0.99, 0.01]):
        assert floor_spread(torch.tensor(law)) == pytest.approx(TWO_CLASSES, abs=1e-6)
    assert floor_spread(torch.full((8,), 1 / 8)) < 0.3


@pytest.mark.parametrize("spreads", ["[0.25]", "[0.25, 0.4, 0.1]"])
def test_there_is_one_deviation_of_each_error(tmp_path, table, spreads):
    path = tmp_path / "t.yaml"
    path.write_text(Path(table.file).read_text().replace("[0.22, 0.4]", spreads))
    with pytest.raises(UserError, match=r"line \d+: \d spreads of 2 errors; give one of each"):
        parse("mine/t", path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"machine 1": [0.25', '"machine 2": [0.25', "unknown problem 'machine 2'; did you mean"),
        (', "machine 1": [0.25, 0.31]', "", "spreads lacks the problem 'machine 1'"),
    ],
)
def test_every_problem_has_its_deviations(tmp_path, table, old, new, words):
    path, text = tmp_path / "t.yaml", Path(table.file).read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(UserError, match=words):
        parse("mine/t", path)


def test_its_metrics_must_exist(tmp_path, table):
    path = tmp_path / "t.yaml"
    path.write_text(Path(table.file).read_text().replace("rate: rate,", "rate: rat,"))
    with pytest.raises(UserError, match=r"line \d+: unknown metric 'rat'; did you mean 'rate'"):
        parse("mine/t", path)
