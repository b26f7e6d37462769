"""Training and testing keep every tensor on the GPU, in float32 and under bfloat16 autocast, and
after the first step wait for none but where it is listed.

On a fake GPU (see ``fake_gpu``): no value is computed and no gradient taken, but an operation on
tensors of two devices raises, wherever it stands.
"""

from functools import partial
from types import SimpleNamespace

import pytest
import torch
from hydra.utils import instantiate
from lightning.fabric.utilities.apply_func import move_data_to_device

from fake_gpu import fake_gpu
from jumpbench.methods.dnfs.exact import sampler_law
from jumpbench.methods.dnfs.exact_chain import chain_law
from jumpbench.samplers.clusters import swendsen_wang
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.selection import Selection

STEPS = 3  # the first, and one of each precision after it
# Few steps. Many chains at once cost nothing on a fake GPU; few would be many batches.
SHORT = (
    "method.n_steps=3", "method.controller.refresh_every=1", "method.controller.steps=1",
    "method.corrector.steps=1", "data.n_samples=1024", "data.batch_size=1024",
)  # fmt: skip
CHAINS = ("method.burn_in=2", "++method.collections=4", "method.spacing=1")


def smoke(table, row, *overrides):
    """The first run of a row of the smoke scale."""
    selection = Selection("smoke", "1", row, overrides=overrides)
    return next(cell for cell in build(load(table), selection) if cell.asked).runs[0]


def trained(table, row):
    """The training behind a row of the smoke scale."""
    return smoke(table, row).needs["trained"]


RUNS = {
    # As published: transformers, 24x24 and 16x16 lattices, the buffer's size.
    "ising": partial(plan_run, "dasbs/ising", SHORT),
    "potts": partial(plan_run, "dasbs/potts", (*SHORT, "+regime=dasbs/potts_low")),
    "probes": partial(smoke, "dasbs/exact", "DASBS"),
    "memoryless": partial(smoke, "dasbs/figure1", "AM with reweighting"),
    "leaps": partial(smoke, "dasbs/table2", "LEAPS"),
    "udns": partial(smoke, "dasbs/table2", "UDNS"),
    "mdns": partial(smoke, "dasbs/table2", "MDNS"),
    "metropolis": partial(smoke, "dasbs/table2", "MH", *CHAINS),
    "swendsen_wang": partial(smoke, "dasbs/table2", "SW", *CHAINS),
    "jigsaw": partial(smoke, "symmetric_diffusers/table1", "SymmetricDiffusers (ours)"),
    "sorting": partial(smoke, "symmetric_diffusers/table2", "SymmetricDiffusers (ours)"),
    "diffsort": partial(smoke, "symmetric_diffusers/table2", "DiffSort"),
    "transpositions": partial(smoke, "symmetric_diffusers/table6", "RT + IT + greedy"),
    "tours": partial(smoke, "symmetric_diffusers/table4", "SymmetricDiffusers (ours)"),
    "sedd": partial(smoke, "symmetric_diffusers/table5", "SEDD"),
    "death": partial(trained, "blackout/mnist", "Finite-time loss, Poisson"),
    "poisson": partial(smoke, "blackout/mnist", "Finite-time loss, Poisson"),
    "bridge": partial(smoke, "blackout/mnist", "Finite-time loss, stochastic rounding"),
    "levels": partial(trained, "blackout/table1", "Instantaneous loss, Binomial: samples"),
    "nearest": partial(smoke, "blackout/table1", "Instantaneous loss, Binomial: samples",
                       "corrector=blackout/whole"),
    "classifier": lambda: smoke("blackout/mnist", "Real images").needs["classifier"],
    "flow": partial(plan_run, "dnfs/ising_10x10", ("method.n_steps=3", "method.chains=8")),
    "graphs": partial(smoke, "dnfs/table1", "DNFS"),
    "graph_chains": partial(smoke, "dnfs/table1", "DMALA"),
    "energies": partial(smoke, "dnfs/table2", "EB-DNFS"),
    "discrepancy": partial(smoke, "dnfs/table2", "ED-Bern (here)"),
    "design": partial(smoke, "sgdd/table3", "SGDD (beta=30)"),
    "particles": partial(smoke, "sgdd/table3", "SMC"),
    "twisted": partial(smoke, "sgdd/table3", "TDS"),
    "fine_tuning": partial(smoke, "sgdd/table3", "DRAKES w/ KL"),
    "gibbs": partial(smoke, "sgdd/table2", "SGDD"),
    "pairs": partial(smoke, "sgdd/table4", "SGDD"),
    "weighted_pairs": partial(smoke, "sgdd/table4", "SMC"),
    "prior": lambda: smoke("sgdd/figure3", "SGDD").needs["prior"],
    "persistent": partial(smoke, "dnfs/table4", "PCD with Gibbs (here)"),
    "ratios": partial(smoke, "dnfs/table4", "ratio matching"),
    "policies": partial(smoke, "dnfs/figure4", "GFlowNet"),
    "graph_policies": partial(smoke, "dnfs/table1", "GFlowNet"),
    "oracle": lambda: smoke("sgdd/table3", "SMC").needs["guide"],
}  # fmt: skip


WAITS_FOR = {
    "methods/dasbs/probes.py: ModeBalance.__call__": "once a stage",
    "methods/dnfs/training.py: FlowTraining._record": "once a roll-out, four numbers at a time",
    "methods/dnfs/energy_judging.py: uniform_log_z": "once a batch of draws",
    "methods/sgdd/site_kernel.py: _check": "before the first step",
    "methods/unnormalised/chains.py: diagnostics": "after the last step",
    "samplers/clusters/labels.py: labels_by_propagation": "until no label moves, once a sweep",
    "samplers/draws.py: narrow": "after the last step",
    "samplers/returned.py: foreign_symbol": "after the last step, once a batch of samples",
    "targets/base.py: alike": "before the first step",
    "targets/base.py: check_states": "before the first step",
    "targets/base.py: check_target": "before the first step",
    "targets/consistency.py: check_consistency": "before the first step",
    "targets/graphs.py: GraphLaw.table_evaluations": "once a law",
}
"""Who asks a GPU for a value in trainings and draws, and when; all else runs ahead of it."""


class Trainer(SimpleNamespace):
    """As much of a trainer as a module asks for."""

    world_size, global_step, global_rank, is_global_zero = 1, 0, 0, True
    accumulate_grad_batches = 1
    training = testing = sanity_checking = False
    max_steps = estimated_stepping_batches = STEPS
    precision, current_epoch, lightning_module = "32-true", 0, None


class Optimizer:
    """Gradients are not computed, so there is nothing to step by."""

    def zero_grad(self):
        pass

    step = zero_grad


def train(method, batch, asked):
    found = method.configure_optimizers()
    several = isinstance(found, list | tuple) and len(found) > 1
    method.optimizers = lambda: [Optimizer()] * len(found) if several else Optimizer()
    method.manual_backward = lambda loss: None
    method.on_fit_start()
    for step in range(STEPS):
        if step == 1:  # the first step may look at what it is given
            asked.clear()
        method.trainer.global_step = step
        with torch.autocast("cuda", torch.bfloat16, enabled=step % 2 == 1):
            loss = method.training_step(batch, step)
        assert loss is None or loss.device.type == "cuda"


def evaluate(method, batch, asked):
    with torch.no_grad():
        method.on_test_start()
        asked.clear()
        drawn = method.draw(batch, method.test_generator(0))
    for draws in drawn.values() if isinstance(drawn, dict) else [drawn]:
        assert draws.samples.device.type == "cuda"


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_every_tensor_is_on_the_gpu_and_none_is_waited_for(run, monkeypatch):
    # Read on the host, once a call, from values that a fake GPU does not have.
    monkeypatch.setattr(swendsen_wang, "bond_probability", lambda target: 0.5)
    # Values mean nothing here, so they may be infinite; and another run's weights are not there.
    monkeypatch.setattr("jumpbench.methods.dnfs.module.check_positive", lambda *args: None)
    monkeypatch.setattr("jumpbench.methods.unnormalised.base.check_target", lambda *args: None)
    monkeypatch.setattr("jumpbench.methods.blackout.module.load_weights", lambda *args: None)
    energies = "jumpbench.methods.dnfs.baselines.energy_models.load_weights"
    monkeypatch.setattr(energies, lambda network, *args: network)
    monkeypatch.setattr("torch.autograd.grad", lambda loss, x: (torch.zeros_like(x) + loss,))
    for name in ("learned_prior", "problems.design", "baselines.drakes"):
        place = f"jumpbench.methods.sgdd.{name}.load_weights"
        monkeypatch.setattr(place, lambda network, folder: network)
    monkeypatch.setattr("torch.cuda.synchronize", lambda *args: None)
    config = run().config
    data = instantiate(config["data"], _convert_="all")
    method = instantiate(config["method"], _convert_="all")
    trainer = Trainer(datamodule=data)
    method._trainer = data.trainer = trainer
    method.log = method.log_dict = lambda *args, **kwargs: None
    data.prepare_data()
    loaders = {"fit": data.train_dataloader, "test": data.test_dataloader}
    batches = {}
    for stage in config["stages"]:
        data.setup(stage)
        method.setup(stage)
        batches[stage] = next(iter(loaders[stage]()))
    with fake_gpu() as asked:
        method.to("cuda")
        for stage, batch in batches.items():
            method.train(stage == "fit")
            trainer.training, trainer.testing = stage == "fit", stage == "test"
            batch = data.on_after_batch_transfer(move_data_to_device(batch, "cuda"), 0)
            {"fit": train, "test": evaluate}[stage](method, batch, asked)
            assert set(asked) <= WAITS_FOR.keys(), set(asked) - WAITS_FOR.keys()


@pytest.mark.slow
@pytest.mark.parametrize("column", ["Ising 3x3", "MIS on the 3x3 grid graph"])
def test_exact_laws_of_a_flow_are_on_its_device(column, monkeypatch):
    monkeypatch.setattr("jumpbench.methods.dnfs.module.check_positive", lambda *args: None)
    selection = Selection("smoke", "1", "DNFS", column)
    run = next(cell for cell in build(load("dnfs/exact"), selection) if cell.asked).runs[0]
    method = instantiate(run.config["method"], _convert_="all")
    with fake_gpu():
        method.to("cuda")
        method._to_device()
        times = torch.linspace(0, 1, 4, device="cuda")
        for law_of in (sampler_law, chain_law):
            law = law_of(method.network, method.target, times).law
            assert law.device.type == "cuda" and law.shape == (512,)


def test_a_tensor_on_the_wrong_device_is_found():
    with fake_gpu(), pytest.raises(RuntimeError, match="same device"):
        torch.zeros(3, device="cuda") + torch.ones(3)


def test_a_question_for_a_value_is_noted():
    with fake_gpu() as asked:
        graphs = torch.ones(3, device="cuda")
        assert not asked and bool(graphs[0]) is False and asked == ["elsewhere"]
