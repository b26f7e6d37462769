"""Counted memory of a training beside what torch allocates on the CPU for the same steps."""

import pytest
from torch.profiler import ProfilerActivity, profile

from jumpbench.errors import UserError
from jumpbench.tables.commands.estimates import ExpectedCost, memory_line
from jumpbench.tables.planning.gate import construct
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.scalefiles import expanded
from jumpbench.tables.price.kept import price, taken_gb
from jumpbench.tables.price.long_loops import counted
from jumpbench.tables.price.memory import GIB, held_by
from jumpbench.tables.price.passes import count
from jumpbench.tables.price.stand_ins import Trainer, fill_in
from jumpbench.tables.runs.execute import execute
from jumpbench.tables.runs.store import read_metrics
from support import needs_data

TRAININGS = {
    "permutation_transformer": (
        "symmetric_diffusers/fixed_permutation", "data.length=6", "data.train_batch_size=64",
        "method.optimizer.fused=false",
    ),
    "transpositions_of_whole_trajectories": (
        "symmetric_diffusers/sort", "scale=symmetric_diffusers/scalars/small", "data.length=9",
        "reverse=symmetric_diffusers/it", "decoding=symmetric_diffusers/greedy",
        "method.shuffle._target_=jumpbench.processes.shuffles.RandomTransposition",
        "method.transitions.count=3", "method.schedule=${every_step:15}",
    ),
    "digit_classifier": ("sgdd/mnist_classifier", "data.side=16"),
}  # fmt: skip
ON_MNIST = {"digit_classifier"}


def allocated(config):
    """(GiB of the weights, the most that two steps allocate beside them), by torch's profiler."""
    data, method = construct(config["data"], "data"), construct(config["method"], "method")
    trainer = Trainer(datamodule=data, max_steps=10)
    fill_in(method, trainer)
    data.trainer = trainer
    data.prepare_data()
    data.setup("fit")
    method.setup("fit")
    batch = next(iter(data.train_dataloader()))
    optimiser = method.configure_optimizers()
    optimiser = optimiser["optimizer"] if isinstance(optimiser, dict) else optimiser
    method.on_fit_start()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        for step in range(2):
            optimiser.zero_grad()
            method.training_step(batch, step).backward()
            optimiser.step()
    events = [e for e in seen.profiler.kineto_results.events() if e.name() == "[memory]"]
    held = most = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    kept = [*method.parameters(), *method.buffers()]
    return sum(x.numel() * x.element_size() for x in kept) / GIB, most / GIB


@pytest.mark.slow
@pytest.mark.parametrize(
    "training",
    [
        pytest.param(given, id=name, marks=[needs_data("mnist")] if name in ON_MNIST else [])
        for name, given in TRAININGS.items()
    ],
)
def test_counted_memory_is_what_torch_allocates(training):
    """Weights to the byte; gradients, states and activations within a factor of two."""
    experiment, *overrides = training
    config = plan_run(experiment, expanded(overrides)).placed()
    config["trainer"]["max_steps"], config["stages"] = 10, ["fit"]
    found = count(config).memory
    weights, beside = allocated(config)
    assert found.pop("weights") == pytest.approx(weights, rel=1e-6)
    assert found["optimiser"] == pytest.approx(2 * found["gradients"], rel=1e-3)  # Adam's
    assert 0.5 < sum(found.values()) / beside < 2


def test_a_run_that_counts_trains_nothing(tmp_path):
    experiment, *overrides = TRAININGS["permutation_transformer"]
    run = plan_run(experiment, [*overrides, "stages=[count]"])
    assert not price(run).why and price(run).memory_gb == 0
    config = run.placed()
    execute(tmp_path, config)
    metrics = read_metrics(tmp_path)["metrics"]
    parts = counted(config | {"stages": ["fit"]}).memory
    assert metrics["counted/memory_gib"] == pytest.approx(sum(parts.values()))
    assert metrics["counted/weights_gib"] == parts["weights"] and "run/steps" not in metrics
    config["trainer"]["precision"] = "bf16-mixed"
    with pytest.raises(UserError, match="counts float32, not bf16-mixed"):
        execute(tmp_path / "halves", config)


def test_roll_outs_that_a_method_keeps_are_counted():
    """DNFS's buffer, full from the first roll-out on: counted as what a real one holds."""
    small = ("scale=dnfs/ising/smoke", "method.stored=3", "trainer.max_steps=10", "stages=[fit]")
    run = plan_run("dnfs/ising", expanded(small))
    method = construct(run.config["method"], "method")
    fill_in(method, Trainer(max_steps=10))
    method.setup("fit")
    assert held_by(method) < 1000  # nothing yet but numbers
    method.configure_optimizers()
    method.on_fit_start()
    method.training_step(None, 0)
    store = method.learner.store
    bytes_held = sum(x.numel() * x.element_size() for x in store.tensors.values())
    states = 3 * (method.learner.n_steps + 1) * method.learner.chains * method.target.length
    assert store.tensors["states"].numel() == states
    # Beside the buffer stands the order in which its pairs are drawn, eight bytes a pair.
    most = bytes_held + 8 * states / method.target.length + 1000
    assert bytes_held <= held_by(method) <= most
    assert bytes_held <= count(run.placed()).memory["kept"] * GIB <= most


def test_memory_is_held_against_gpus():
    parts = {"weights": 1.0, "gradients": 1.0, "optimiser": 2.0, "activations": 8.0}
    assert memory_line(parts) == (
        "12.0 GiB (1.0 weights, 1.0 gradients, 2.0 optimiser, 8.0 activations), for a GPU of 24 GB"
    )
    assert memory_line({"weights": 20.0}).endswith("for a GPU of 40 GB")
    assert memory_line({"weights": 59.0}).endswith("for a GPU of 80 GB")
    assert memory_line({"weights": 60.0}).endswith("for no GPU of 80 GB")
    assert taken_gb(60.0) == 81.0
    told = ExpectedCost({"x": 5.0}, source={"x": "counted"}, memory={"x": parts}, rows={"x": "row"})
    assert [*told.lines()][1].strip() == memory_line(parts)
