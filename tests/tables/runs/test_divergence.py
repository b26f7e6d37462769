"""Every trained class whose steps are far too large ends as a failed run that says why."""

import copy
import json

import pytest
import torch
from hydra.utils import instantiate
from interruptions import TRAINED

from jumpbench.networks.letf import LeTF
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.planning.grid import build, unique_runs
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.runs.attempt import attempt
from jumpbench.tables.runs.divergence import FACTOR, FiniteTraining
from jumpbench.tables.runs.job import Job, Outcome


def at_rate(node, lr):
    """A method's configuration in which every optimiser has this learning rate, at all steps."""
    if isinstance(node, list):
        return [at_rate(value, lr) for value in node]
    if not isinstance(node, dict):
        return node
    node = {key: at_rate(value, lr) for key, value in node.items() if key != "scheduler"}
    return node | {"lr": lr} if str(node.get("_target_")).startswith("torch.optim.") else node


# Weights above the limit but finite are found in the same place whatever is trained.
LARGE = ("DASBS probes", "DNFS", "SymmetricDiffuser", "Blackout", "DRAKES")
CASES = [(name, 1e30) for name in TRAINED] + [
    pytest.param(name, 1e8, marks=[] if name in LARGE else [pytest.mark.long]) for name in TRAINED
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "lr"), CASES)
def test_steps_that_are_far_too_large_fail_with_a_reason(name, lr, tmp_path, monkeypatch):
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path))
    run = TRAINED[name].run("trainer.max_steps=30")
    *needs, _ = run.with_needs()
    trained = [need for need in needs if "fit" in need.config["stages"]]  # training reads them
    for step in {step.folder: step for need in trained for step in need.with_needs()}.values():
        made = attempt(Job(step.folder, step.placed()))
        assert made.outcome is Outcome.FINISHED, made.message
    config = copy.deepcopy(run.placed())
    config |= {"stages": ["fit"], "method": at_rate(config["method"], lr)}
    ended = attempt(Job(run.folder, config))
    assert ended.outcome is Outcome.FAILED
    assert ended.message.startswith("training diverged by step "), ended.message
    assert not (run.folder / "metrics.json").exists()
    assert json.loads((run.folder / "error.json").read_text())["kind"] == "Diverged"


class Watched:
    """What the callback looks at, of weights alone."""

    def __init__(self, step=0):
        self.global_step, self.callback_metrics = step, {}


def test_weights_are_measured_by_their_initial_scale():
    module = torch.nn.Linear(2, 2)
    module.weight.data.fill_(50.0)
    finite = FiniteTraining()
    assert finite.beyond(module) == []  # before training nothing is known but what is finite
    finite.on_train_start(Watched(), module)
    module.weight.data.fill_(0.9 * 50 * FACTOR)
    assert finite.beyond(module) == []
    module.weight.data[1, 1] = -1.1 * 50 * FACTOR
    assert finite.beyond(module) == ["1 of 2 weight tensors are above 5e+07"]
    module.bias.data[0] = float("nan")
    assert len(finite.beyond(module)) == 2


def test_small_weights_are_measured_by_one():
    module = torch.nn.Linear(2, 2)
    module.weight.data.fill_(1e-8)
    module.bias.data.zero_()
    finite = FiniteTraining()
    finite.on_train_start(Watched(), module)
    module.bias.data.fill_(0.9 * FACTOR)
    assert finite.beyond(module) == []


def test_the_initial_scale_is_that_of_the_first_attempt():
    module = torch.nn.Linear(2, 2)
    first = FiniteTraining()
    first.on_train_start(Watched(), module)
    again = FiniteTraining()
    again.load_state_dict(first.state_dict())
    module.weight.data.fill_(0.5 * FACTOR)
    again.on_train_start(Watched(5), module)
    module.weight.data.fill_(2 * FACTOR)
    assert again.beyond(module)


UNKNOWN_STEPS = 1_000_000  # of a training that a number of minutes ends


def summed_rates(method, steps):
    """Sum of the largest learning rate over all steps of a training."""
    rates = [node["lr"] for node in optimizers(method)]
    scheduler = method.get("scheduler")
    if not scheduler:
        return max(rates) * steps
    rate = instantiate(scheduler, _convert_="all")(torch.optim.SGD([torch.zeros(1)], lr=max(rates)))
    if hasattr(rate, "rate"):
        every = max(steps // 1000, 1)
        return sum(rate.rate(step) * every for step in range(1, steps + 1, every))
    return max(rates) * steps  # torch's own schedules lower it


def optimizers(node):
    if isinstance(node, dict):
        if str(node.get("_target_")).startswith("torch.optim.Adam"):
            yield node
        for value in node.values():
            yield from optimizers(value)


@pytest.mark.slow
def test_no_training_of_the_tables_can_come_near():
    """Adam moves a weight by a few times the sum of its rates; a two-hundredth of the limit."""
    seen, largest = set(), 0.0
    for name in available():
        for scale in (table := load(name)).scales:
            for cell in unique_runs(build(table, Selection(scale, "1"))):  # seeds share rates
                for run in cell.with_needs():
                    if "fit" in run.config["stages"] and run.hash not in seen:
                        seen.add(run.hash)
                        steps = int(run.config["trainer"].get("max_steps") or -1)
                        seconds = float((run.config.get("budget") or {}).get("seconds") or "inf")
                        # No step of a training takes less than a millisecond.
                        steps = min(UNKNOWN_STEPS, 1000 * seconds) if steps < 0 else steps
                        largest = max(largest, summed_rates(run.config["method"], steps))
    assert len(seen) > 800 and 50 < largest <= FACTOR / 200


def outcome(run):
    return attempt(Job(run.folder, run.placed()))


def test_a_flow_sampler_without_a_loss_yet_is_not_diverged(tmp_path, monkeypatch):
    """Its first roll-out comes before its first loss; a checkpoint looks at what is logged."""
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path))
    run = TRAINED["DNFS"].run("trainer.max_steps=2", "checkpoint_every=1")
    assert outcome(run).outcome is Outcome.FINISHED


def test_a_flow_sampler_whose_first_roll_out_is_no_number_fails_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path))
    flux = LeTF.forward
    monkeypatch.setattr(LeTF, "forward", lambda self, *a, **k: flux(self, *a, **k) * float("nan"))
    run = TRAINED["DNFS"].run("trainer.max_steps=2", "checkpoint_every=1", "method.probes=[]")
    ended = outcome(run)
    assert ended.outcome is Outcome.FAILED
    assert "not finite" in ended.message or "NaN" in ended.message, ended.message
    assert not (run.folder / "metrics.json").exists()
