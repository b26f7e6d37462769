"""A small table, and the verdict of one check on given numbers."""

import dataclasses

import pytest
from claimed import claim_of, of_seeds

from jumpbench.tables.judging.cells import Cell, Value
from jumpbench.tables.judging.claims import evaluate
from jumpbench.tables.language.spec import load


@pytest.fixture
def table(project):
    return load("toy/coins")


@pytest.fixture
def decide(table):
    """The verdict of one check on given values: {(row, column): (value, standard error)}.

    None is the error of one seed; where no value has one, all are exact.
    """

    def run(check, values, changed=table, looks=1):
        cells = []
        for number, ((row, column), (value, error)) in enumerate(values.items()):
            seeds = [Value(0, value, "0")] if error is None else of_seeds(value, error, number)
            seeds = [Value(v.seed, value, v.run) for v in seeds] if error == 0 else seeds
            made = Cell(row, column, "mean", measured=value, values=seeds, status="measured")
            cells.append(made)
        metric = changed.metrics["mean"]
        if all(error == 0 for _, error in values.values()):
            metric = dataclasses.replace(metric, exact=True)
        claimed = dataclasses.replace(
            changed,
            claims=(dataclasses.replace(claim_of(check), looks=looks),),
            published={},
            metrics={"mean": metric},
        )
        (result,) = evaluate(claimed, cells, "paper")
        return result["holds"], result["detail"]

    return run
