"""DNFS keeps every tensor on the GPU: an operation on tensors of two devices raises.

On a fake GPU (see ``fake_gpu``), on which no value is computed.
"""

from functools import partial

import pytest
import torch
from hydra.utils import instantiate
from lightning.fabric.utilities.apply_func import move_data_to_device

from fake_gpu import fake_gpu
from jumpbench.tables.grid import Selection, build
from jumpbench.tables.plan import plan_run
from jumpbench.tables.spec import load


def smoke(table, row, *overrides):
    """The first run of a row of the smoke scale."""
    selection = Selection("smoke", "1", row, overrides=overrides)
    return next(cell for cell in build(load(table), selection) if cell.asked).runs[0]


RUNS = {
    "ising": partial(plan_run, "dnfs/ising_10x10", ("method.n_steps=3", "method.chains=8")),
    "graphs": partial(smoke, "dnfs/table1", "DNFS"),
    "chains": partial(smoke, "dnfs/table1", "DMALA"),
    "energies": partial(smoke, "dnfs/table2", "EB-DNFS"),
    "discrepancy": partial(smoke, "dnfs/table2", "ED-Bern (here)"),
}


class Trainer:
    """As much of a trainer as a module asks for."""

    world_size, global_step, global_rank, is_global_zero = 1, 0, 0, True
    training = testing = sanity_checking = False
    precision, current_epoch, lightning_module = "32-true", 0, None


class Optimizer:
    def zero_grad(self):
        pass

    step = zero_grad


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_every_tensor_is_on_the_gpu(run, monkeypatch):
    # Values mean nothing here, so they may be infinite.
    monkeypatch.setattr("jumpbench.methods.dnfs.module.check_positive", lambda *args: None)
    monkeypatch.setattr("jumpbench.methods.unnormalised.base.check_target", lambda *args: None)
    monkeypatch.setattr("torch.cuda.synchronize", lambda *args: None)
    config = run().config
    evaluation = None
    data = instantiate(config["data"], _convert_="all")
    method = instantiate({**config["method"], "evaluation": evaluation}, _convert_="all")
    method._trainer = data.trainer = Trainer()
    method.log = method.log_dict = lambda *args, **kwargs: None
    method.optimizers = lambda: (Optimizer(), Optimizer())
    method.manual_backward = lambda loss: None
    train = next(iter(data.train_dataloader())) if "fit" in config["stages"] else None
    test = next(iter(data.test_dataloader()))
    with fake_gpu():
        method.to("cuda")
        if train is not None:
            method.configure_optimizers()
            method.on_fit_start()
            for step in range(2):
                method._trainer.global_step = step
                with torch.autocast("cuda", torch.bfloat16, enabled=step == 1):
                    loss = method.training_step(move_data_to_device(train, "cuda"), step)
                assert loss is None or loss.device.type == "cuda"
        method.on_test_start()
        drawn = method.draw(move_data_to_device(test, "cuda"), method.test_generator(0))
        for draws in [drawn] if hasattr(drawn, "samples") else drawn.values():
            assert draws.samples.device.type == "cuda"
