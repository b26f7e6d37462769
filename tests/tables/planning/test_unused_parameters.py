"""On several devices a training step reaches every parameter, or the method says that it may not.

DDP waits for a gradient of every parameter after every backward pass; ``unused_parameters`` makes
it look which ones there are. What a step reaches is the same on one device, and looked at there.
"""

import pytest
from hydra.utils import instantiate
from lightning import Callback

from jumpbench.tables.language.spec import available, load
from jumpbench.tables.planning.grid import build, unique_runs
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.runs.devices import data_settings
from support import quiet_trainer

STEPS = 3


def trained():
    """A smoke run for every method, network and loss that is trained by itself."""
    kinds = {}
    for name in available():
        if "smoke" in load(name).scales:
            for run in unique_runs(build(load(name), Selection("smoke"))):
                if "fit" in run.config["stages"] and not run.needs:
                    method = run.config["method"]
                    parts = [method["_target_"]]
                    for key in ("network", "energy", "losses", "loss", "matching"):
                        node = method.get(key)
                        parts.append(str(node.get("_target_") if isinstance(node, dict) else node))
                    kinds.setdefault(tuple(parts), run)
    return list(kinds.values())


class Reached(Callback):
    """The parameters that no backward pass of some kind has reached."""

    def on_fit_start(self, trainer, module):
        self.missed, self.reached = set(), set()
        for name, parameter in module.named_parameters():
            if parameter.requires_grad:
                parameter.register_post_accumulate_grad_hook(
                    lambda _, name=name: self.reached.add(name)
                )

    def on_after_backward(self, trainer, module):
        wanted = {name for name, p in module.named_parameters() if p.requires_grad}
        self.missed |= wanted - self.reached
        self.reached = set()


def missed(config, folder):
    """Parameters that a backward pass of the first steps has not reached."""
    method = instantiate(config["method"], _convert_="all")
    data = instantiate(data_settings(config), _convert_="all")
    seen = Reached()
    trainer = quiet_trainer(STEPS, folder, limit_val_batches=0, callbacks=[seen])
    trainer.fit(method, datamodule=data)
    return set() if method.unused_parameters else seen.missed


@pytest.mark.long
def test_a_step_reaches_every_parameter_or_the_method_says_so(tmp_path):
    runs = trained()
    assert len(runs) > 20  # of all papers
    assert {run.id: names for run in runs if (names := missed(run.config, tmp_path))} == {}
