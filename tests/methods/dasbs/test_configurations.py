"""The configurations of the paper's text hold the hyperparameters that its appendix states."""

from pathlib import Path

import pytest
import yaml

from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.selection import Selection

FACTS = yaml.safe_load((Path(__file__).parents[2] / "facts" / "dasbs.yaml").read_text())
APPENDIX = {
    (cell["row"], cell["column"]): cell["value"]
    for table in FACTS["tables"]
    if table["id"] == "appendix_c2"
    for cell in table["cells"]
}
BETAS = {"ising": (0.28, 0.4407, 0.6), "potts": (0.9, 1.0986, 1.3)}


@pytest.mark.parametrize("model", ["ising", "potts"])
@pytest.mark.parametrize("temperature", ["hot", "cold"])
def test_main_runs_as_the_text_has_them(model, temperature):
    config = plan_run(f"dasbs/{model}", [f"+regime=dasbs/text_{temperature}"]).whole
    method, network = config["method"], config["network"]
    hot = temperature == "hot"
    where = "beta_high" if hot else "beta_critical and beta_low"
    both = method["controller"], method["corrector"]
    main = {
        "blocks": network["controller"]["blocks"],
        "hidden dimension": network["controller"]["hidden"],
        "heads": network["controller"]["heads"],
        "gamma": method["schedule"]["gamma"],
        "alpha": method["schedule"]["alpha"],
        "controller steps per stage": method["controller"]["steps"],
        "corrector steps per stage": method["corrector"]["steps"],
    }
    for row, value in main.items():
        assert value == APPENDIX[row, "main runs"], row
    steps = method["controller"]["steps"] + method["corrector"]["steps"]
    assert config["trainer"]["max_steps"] == steps * APPENDIX["stages", "main runs"]
    for part in both:
        assert part["pairs"] == APPENDIX["pairs drawn per refresh", "main runs"]
        assert part["optimizer"]["lr"] == APPENDIX["learning rate", where]
        assert part["buffer_size"] == APPENDIX["buffer size", where]
        assert part["refresh_every"] == APPENDIX["gradient steps between refreshes", where]
    assert network["corrector"]["blocks"] == network["controller"]["blocks"]
    source, matching = method["source"], method["corrector"]["matching"]
    assert source["_target_"].endswith("ConstantSource") != hot
    assert matching["_target_"].endswith("DenoisingMatching") != hot
    assert method["controller"]["matching"]["_target_"].endswith("AdjointMatching")


def test_the_decay_of_the_average_is_the_stated_one():
    from inspect import signature

    from jumpbench.methods.dasbs.matcher import Matcher

    stated = APPENDIX["EMA decay", "main runs"]
    assert signature(Matcher).parameters["ema_decay"].default == stated


@pytest.mark.parametrize(
    ("experiment", "where"), [("figure1", "figure1"), ("figure2", "figure2 and figure3")]
)
def test_ablations_as_the_text_has_them(experiment, where):
    config = plan_run(f"dasbs/{experiment}").whole
    method = config["method"]
    controller, corrector = method["controller"], method["corrector"] or {}
    values = {
        "blocks": config["network"]["controller"]["blocks"],
        "batch size": controller["pairs"],
        "times per pair": controller["times"],
        "buffer size": controller["buffer_size"],
        "gradient steps between refreshes": controller["refresh_every"],
        "steps": config["trainer"]["max_steps"],
        "NFE": method["n_steps"],
        "controller steps per stage": controller["steps"],
        "corrector steps per stage": corrector.get("steps"),
    }
    stated = {row: value for row, value in values.items() if (row, where) in APPENDIX}
    assert len(stated) >= 7
    for row, value in stated.items():
        assert value == APPENDIX[row, where], row


def test_udns_and_the_runs_that_it_starts_from_have_the_rates_of_their_temperatures():
    by_temperature = {
        0.28: APPENDIX["learning rate", "beta_high"],
        0.4407: APPENDIX["learning rate", "beta_critical and beta_low"],
        0.6: APPENDIX["learning rate", "beta_critical and beta_low"],
    }
    cells = build(load("dasbs/table2"), Selection("paper", "[0]", "UDNS", "beta_low*"))
    chain = [cells[0].runs[0]]
    while hotter := chain[-1].needs.get("hotter"):
        chain.append(hotter)
    assert [run.whole["target"]["beta"] for run in chain] == [0.6, 0.4407, 0.28]
    for run in chain:
        rate = run.whole["method"]["controller"]["optimizer"]["lr"]
        assert rate == by_temperature[run.whole["target"]["beta"]]


@pytest.mark.parametrize("model", BETAS)
def test_released_regimes_reach_their_temperature_and_source(model):
    for name, beta in zip(("critical", "low"), BETAS[model][1:], strict=True):
        run = plan_run(f"dasbs/{model}", [f"+regime=dasbs/{model}_{name}"])
        method = run.whole["method"]
        assert run.whole["target"]["beta"] == beta
        assert method["source"]["_target_"].endswith("ConstantSource")
        assert method["corrector"]["matching"]["_target_"].endswith("DenoisingMatching")
        assert method["corrector"]["optimizer"] == method["controller"]["optimizer"]


EXPERIMENTS = ("ising", "potts", "udns", "leaps", "mdns", "metropolis", "swendsen_wang")


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize(
    "change", ["target.beta=0.7", "target.coupling=0.5", "target.size=8", "target.field=0.1"]
)
def test_a_run_is_judged_by_the_truth_of_its_own_target(experiment, change):
    if experiment == "potts" and change.startswith("target.field"):
        pytest.skip("Potts has no field")
    run = plan_run(f"dasbs/{experiment}", [change])
    truth = run.needs["ground_truth"]
    assert truth.whole["target"] == run.whole["target"]
    evaluation = run.whole["method"]["evaluation"]
    assert evaluation["ground_truth"] == f"run:{truth.hash}"
    assert evaluation["target"] == run.whole["target"] == run.whole["method"]["target"]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("mdns", ["network=masked_perceptron", "network.layers=1", "method.batch_size=64"]),
        ("leaps", ["network=equivariant_perceptron", "network.hidden=8", "method.n_chains=8"]),
        ("udns", ["network=state_perceptron", "network.controller.layers=1", "target.field=0.1"]),
        ("leaps", ["target=potts", "target.n_states=3", "method.n_metropolis=9"]),
    ],
)
def test_a_warm_start_needs_the_very_run_of_the_hot_column(name, changes):
    """Whatever is overridden in network, method or target is the hotter run's too."""
    common = [*changes, "target.size=4", "method.optimizer.lr=0.002", "budget.seconds=5"]
    if name == "udns":
        common = [c.replace("method.optimizer", "method.controller.optimizer") for c in common]
    hot = plan_run(f"dasbs/{name}", [*common, "target.beta=0.28"], seed=3)
    cold = plan_run(
        f"dasbs/{name}", [*common, "target.beta=1.0", "+regime=dasbs/warm_start"], seed=3
    )
    assert cold.needs["hotter"].hash == hot.hash
    assert cold.whole["method"]["warm_start"] == f"run:{hot.hash}"
    assert hot.whole["method"]["warm_start"] is None


@pytest.mark.parametrize("table", ["dasbs/table2", "dasbs/table3"])
@pytest.mark.parametrize("scale", ["small", "paper"])
def test_colder_baselines_start_from_the_run_at_the_next_hotter_temperature(table, scale):
    cells = {
        (cell.row.name, cell.column.name.partition("=")[0]): cell.runs[0]
        for cell in build(load(table), Selection(scale))
        if cell.runs and "cost" not in cell.column.name
    }
    rows = {"LEAPS", "MDNS"} | ({"UDNS", "DFNS"} if table == "dasbs/table2" else set())
    for row in rows:
        critical = cells[row, "beta_critical"]
        assert cells[row, "beta_low"].needs["hotter"].hash == critical.hash
        assert critical.needs["hotter"].hash == cells[row, "beta_high"].hash


@pytest.mark.parametrize("table", ["dasbs/table2", "dasbs/table3"])
@pytest.mark.parametrize("scale", ["small", "medium", "paper"])
def test_long_correctors_take_twice_the_controller_s_steps_for_five_stages(table, scale):
    """At every scale that has the row: one that sets the steps of both would undo it."""
    for cell in build(load(table), Selection(scale)):
        if cell.runs and cell.row.name == "DASBS (warm start, long corrector)":
            run = cell.runs[0]
            for config in (run.whole, run.needs["hotter"].whole):
                steps = config["method"]["controller"]["steps"]
                assert config["method"]["corrector"]["steps"] == 2 * steps
                assert config["trainer"]["max_steps"] == 5 * 3 * steps


@pytest.mark.parametrize("table", ["dasbs/table2", "dasbs/table3"])
@pytest.mark.parametrize("scale", ["smoke", "small", "medium", "paper"])
def test_every_cold_cell_of_dasbs_has_one_that_starts_warm(table, scale):
    """From the run at the next hotter temperature, which starts from that of the hot column (Ising)
    or one at beta 0.5 (Potts); all else is the same."""
    cells = {
        (cell.row.name, cell.column.name): cell.runs[0]
        for cell in build(load(table), Selection(scale))
        if cell.runs
    }
    cold = [column for row, column in cells if row == "DASBS" and "beta_high" not in column]
    cold = [column for column in cold if "cost" not in column]
    assert len(cold) == (1 if scale == "smoke" else 2)
    for column in cold:
        for plain, warm in (
            ("DASBS", "DASBS (warm start)"),
            ("DASBS (guided)", "DASBS (guided, warm start)"),
        ):
            config, started = cells[plain, column].whole, cells[warm, column].whole
            hotter = cells[warm, column].needs["hotter"]
            assert started["method"] | {"warm_start": None} == config["method"]
            assert started["method"]["warm_start"] == f"run:{hotter.hash}"
            assert {k: started[k] for k in ("data", "trainer", "seed", "budget")} == {
                k: config[k] for k in ("data", "trainer", "seed", "budget")
            }
            if "beta_low" in column:
                between = cells.get((warm, column.replace("low=0.6", "critical=0.4407")
                                     .replace("low=1.3", "critical=1.0986")))  # fmt: skip
                assert (scale == "smoke") if between is None else hotter.hash == between.hash
                hotter = hotter.needs["hotter"]
            if table == "dasbs/table2":
                assert hotter.hash == cells[plain, "beta_high=0.28"].hash
            else:
                hot = cells[plain, "beta_high=0.9"].whole["method"]
                moved = {"target", "evaluation"}
                assert hotter.whole["target"]["beta"] == 0.5
                assert {k: v for k, v in hotter.whole["method"].items() if k not in moved} == {
                    k: v for k, v in hot.items() if k not in moved
                }


@pytest.mark.parametrize("scale", ["smoke", "small", "medium", "paper"])
def test_the_curves_of_figure_1_reach_every_step_that_is_shown(scale):
    for cell in build(load("dasbs/figure1"), Selection(scale, "1")):
        if cell.asked and cell.runs:
            shown = int(cell.column.name.removeprefix("step "))
            assert shown <= cell.runs[0].config["trainer"]["max_steps"]
