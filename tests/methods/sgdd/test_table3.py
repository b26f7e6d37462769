"""Table 3's runs: what shares what, and that an oracle learns what its half of the data says."""

from functools import partial

import pytest
import torch
from lightning import Trainer

from jumpbench.data.enhancers import MotifEnhancers
from jumpbench.errors import UserError
from jumpbench.evaluations.regression import RegressionEvaluation
from jumpbench.methods.common.classification import Regression
from jumpbench.methods.sgdd import CG, DenoiserPrior
from jumpbench.methods.sgdd.module import PosteriorSampling
from jumpbench.methods.sgdd.problems.design import DesignProblem
from jumpbench.networks.sequence_regressor import SequenceRegressor
from jumpbench.processes.masked import MaskedProcess
from jumpbench.processes.schedules import LogLinear
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.selection import Selection


@pytest.fixture(scope="module")
def runs():
    cells = build(load("sgdd/table3"), Selection(scale="small"))
    return {cell.row.name: cell.runs[0] for cell in cells}


def test_all_rows_share_the_oracles_and_guide_and_judge_do_not(runs):
    guides = {run.needs["guide"].hash for run in runs.values()}
    judges = {run.needs["judge"].hash for run in runs.values()}
    assert len(guides) == len(judges) == 1 and guides != judges
    [run] = {run.needs["guide"].hash: run for run in runs.values()}.values()
    guide, judge = (run.needs[name].config for name in ("guide", "judge"))
    assert (guide["data"]["half"], judge["data"]["half"]) == (0, 1)
    assert guide["seed"] != judge["seed"]
    assert guide["data"]["length"] == run.config["data"]["length"]


def test_a_row_needs_the_prior_that_it_samples(runs):
    for name, run in runs.items():
        on_uniform = name.startswith(("SGDD", "Uniform")) or "(uniform)" in name
        assert ("prior" in run.needs) == on_uniform, name
    masked = runs["SMC"].config["method"]["prior"]
    denoiser = runs["SMC"].needs["denoiser"]
    assert masked["folder"] == f"run:{denoiser.hash}"
    assert masked["network"] == runs["SMC"].config["evaluation"]["denoiser"]
    assert masked["process"]["_target_"].endswith("MaskedProcess")
    # What likelihoods are judged by is what the baselines sample from.
    assert denoiser.config["method"]["network"] == masked["network"]
    assert denoiser.config["data"]["half"] is None


def test_the_two_betas_differ_in_nothing_else(runs):
    low, high = (dict(runs[f"SGDD (beta={b})"].config["method"]) for b in (30, 50))
    problems = [method.pop("problem") for method in (low, high)]
    assert [problem.pop("beta") for problem in problems] == [30.0, 50]
    assert problems[0] == problems[1] and low["sampler"] == high["sampler"]


def test_an_oracle_learns_its_half():
    """A noiseless count is easy: correlation over 0.9 with unseen sequences, from none before."""

    class Counting(MotifEnhancers):
        def load(self, split):
            rows = super().load(split)
            count = (rows["states"] == 2).float().mean(1, keepdim=True)
            return rows | {"activities": 10 * (count - 0.25)}

    torch.manual_seed(0)
    method = Regression(
        network=SequenceRegressor(1, channels=8, layers=1, dropout=0.0),
        optimizer=partial(torch.optim.Adam, lr=5e-3),
        evaluation=RegressionEvaluation(),
    )
    data = Counting(24, generated=500, half=0, train_batch_size=64, n_samples=200)
    options = {"accelerator": "cpu", "logger": False, "enable_checkpointing": False}
    trainer = Trainer(
        max_steps=60, enable_progress_bar=False, enable_model_summary=False, **options
    )
    trainer.fit(method, datamodule=data)
    trainer.test(method, datamodule=data, verbose=False)
    assert method.results["pearson"] > 0.9
    assert set(method.artifacts["network"]) == set(method.network.state_dict())


def test_a_masked_prior_and_a_problem_of_its_symbols():
    """A prior of 5 states serves 4 letters; of another length it is refused."""

    def clean(x, t):
        known = x if x.is_floating_point() else torch.nn.functional.one_hot(x, 5).float()
        return known[..., 4:] * torch.tensor([0.25, 0.25, 0.25, 0.25, 0]) + (
            known * torch.tensor([1, 1, 1, 1, 0])
        )

    prior = DenoiserPrior(clean, MaskedProcess(4), 16, schedule=LogLinear())
    problem = DesignProblem(SequenceRegressor(2, channels=8), 16, beta=5.0, head=1)
    method = PosteriorSampling(problem, prior, CG(4))
    draws = method.draw({"states": torch.zeros(6, 16)}, method.test_generator(0))
    assert draws.samples.shape == (6, 16) and int(draws.samples.max()) < 4
    value = problem.likelihood(None).log_likelihood(draws.samples)
    expected = 5 * problem.oracle(draws.samples)[:, 1].double()
    torch.testing.assert_close(value, expected)
    with pytest.raises(UserError, match="16 sites of 4 states"):
        PosteriorSampling(DesignProblem(SequenceRegressor(2), 20), prior, CG(4))
