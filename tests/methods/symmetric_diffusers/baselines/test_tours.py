"""Tour rows of the table: lengths and gaps that are logged, and their relations."""

import importlib.util
from functools import partial

import pytest
import torch

from jumpbench.data.tsp import TspData
from jumpbench.errors import UserError
from jumpbench.evaluations.tours import TourEvaluation
from jumpbench.methods.symmetric_diffusers.baselines.tours import (
    TourSolver,
    dynamic_programme,
    lin_kernighan,
    proven_optimum,
    two_opt,
)


def measure(cpu_trainer, solver, size=64):
    data = TspData(8, train_size=1, n_samples=size, batch_size=24)
    method = TourSolver(solver, TourEvaluation())
    cpu_trainer().test(method, datamodule=data, verbose=False)
    return method.results


def test_two_opt_is_worse_than_optimal_and_its_best_start_better_than_the_mean(cpu_trainer):
    result = measure(cpu_trainer, partial(two_opt, n_starts=3))
    assert -1e-9 < result["gap"] < result["gap_mean"] < 10
    assert result["tour_length"] < result["tour_length_mean"]
    assert result["n_samples"] == 64
    single = measure(cpu_trainer, partial(two_opt, n_starts=1))
    assert single["gap"] == single["gap_mean"] == single["gap_first"]


@pytest.mark.parametrize("n_starts", [0, -1])
def test_a_search_without_a_start_is_refused(n_starts):
    with pytest.raises(UserError, match=rf"n_starts={n_starts}: .*method\.solver\.n_starts"):
        two_opt(torch.rand(2, 5, 2), torch.Generator(), n_starts)


def test_exact_solver_has_no_gap(cpu_trainer):
    result = measure(cpu_trainer, dynamic_programme)
    assert abs(result["gap"]) < 1e-5
    assert result["tour_length"] == pytest.approx(result["label_length"], rel=1e-6)


@pytest.mark.parametrize(
    ("solver", "package"), [(proven_optimum, "ortools"), (lin_kernighan, "elkai")]
)
def test_optional_solvers(cpu_trainer, solver, package):
    if importlib.util.find_spec(package) is None:
        with pytest.raises(UserError, match="pip install"):
            measure(cpu_trainer, solver, size=4)
    else:
        assert abs(measure(cpu_trainer, solver, size=4)["gap"]) < 1e-4


def test_an_unproven_tour_is_an_error(monkeypatch):
    import jumpbench.methods.symmetric_diffusers.baselines.tours as tours

    def unproven(coords, seconds):
        return torch.zeros(2, 5, dtype=torch.long), torch.tensor([True, False])

    monkeypatch.setattr(tours, "solve_ortools", unproven)
    with pytest.raises(UserError, match=r"1 of 2 tours unproven after 3 s"):
        proven_optimum(torch.rand(2, 5, 2), torch.Generator(), seconds=3)
