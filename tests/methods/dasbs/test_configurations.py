"""The configurations of the paper's text hold the hyperparameters that its appendix states."""

from pathlib import Path

import pytest
import yaml

from jumpbench.tables.plan import plan_run

FACTS = yaml.safe_load((Path(__file__).parents[2] / "facts" / "dasbs.yaml").read_text())
APPENDIX = {
    (cell["row"], cell["column"]): cell["value"]
    for table in FACTS["tables"]
    if table["id"] == "appendix_c2"
    for cell in table["cells"]
}


@pytest.mark.parametrize("model", ["ising", "potts"])
@pytest.mark.parametrize("temperature", ["high", "critical", "low"])
def test_main_runs_as_the_text_has_them(model, temperature):
    config = plan_run(f"dasbs/{model}", [f"+regime={model}_{temperature}_text"]).config
    method, network = config["method"], config["network"]
    hot = temperature == "high"
    where = "beta_high" if hot else "beta_critical and beta_low"
    main = {
        "blocks": network["controller"]["blocks"],
        "hidden dimension": network["controller"]["hidden"],
        "heads": network["controller"]["heads"],
        "EMA decay": method["ema_decay"],
        "gamma": method["schedule"]["gamma"],
        "alpha": method["schedule"]["alpha"],
        "controller steps per stage": method["controller_steps"],
        "corrector steps per stage": method["corrector_steps"],
        "pairs drawn per refresh": method["pairs"],
    }
    for row, value in main.items():
        assert value == APPENDIX[row, "main runs"], row
    steps = method["controller_steps"] + method["corrector_steps"]
    assert config["trainer"]["max_steps"] == steps * APPENDIX["stages", "main runs"]
    assert method["optimizer"]["lr"] == APPENDIX["learning rate", where]
    assert method["buffer_size"] == APPENDIX["buffer size", where]
    assert method["refresh_every"] == APPENDIX["gradient steps between refreshes", where]
    assert network["corrector"]["blocks"] == network["controller"]["blocks"]
    cold = ("ConstantSource", "DenoisingMatching")
    found = (method["source"]["_target_"], method["corrector_matching"]["_target_"])
    assert all(name.endswith(c) != hot for name, c in zip(found, cold, strict=True))


@pytest.mark.parametrize(
    ("experiment", "where"), [("figure1", "figure1"), ("figure2", "figure2 and figure3")]
)
def test_ablations_as_the_text_has_them(experiment, where):
    config = plan_run(f"dasbs/{experiment}").config
    method = config["method"]
    values = {
        "blocks": config["network"]["controller"]["blocks"],
        "batch size": method["pairs"],
        "times per pair": method["times"],
        "buffer size": method["buffer_size"],
        "gradient steps between refreshes": method["refresh_every"],
        "steps": config["trainer"]["max_steps"],
        "NFE": method["n_steps"],
        "controller steps per stage": method["controller_steps"],
        "corrector steps per stage": method["corrector_steps"],
    }
    stated = {row: value for row, value in values.items() if (row, where) in APPENDIX}
    assert len(stated) >= 7
    for row, value in stated.items():
        assert value == APPENDIX[row, where], row


def test_every_regime_of_the_table_reaches_its_temperature():
    for model, betas in (("ising", (0.28, 0.4407, 0.6)), ("potts", (0.9, 1.0986, 1.3))):
        for name, beta in zip(("high", "critical", "low"), betas, strict=True):
            for text in ("", "_text"):
                run = plan_run(f"dasbs/{model}", [f"+regime={model}_{name}{text}"])
                assert run.config["target"]["beta"] == beta
                assert run.needs["ground_truth"].config["target"] == run.config["target"]


def test_the_plain_experiments_are_the_hottest_released_regimes():
    for model in ("ising", "potts"):
        plain, regime = (
            plan_run(f"dasbs/{model}"),
            plan_run(f"dasbs/{model}", [f"+regime={model}_high"]),
        )
        assert plain.hash == regime.hash
