"""The documented commands for several devices run, on two processes of a CPU."""

import pytest

from jumpbench.cli import main

MANY = ["trainer.devices=2", "trainer.accelerator=cpu"]


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["trainer.strategy=ddp_find_unused_parameters_true"]])
def test_the_bridge_sampler_trains_on_two_devices(more, capsys):
    """Its steps train one of two networks; it says so itself, or the command line does."""
    chosen = ["rows=DASBS", "columns=beta_high=0.28", "method.chains_per_batch=64"]
    assert main(["table", "dasbs/table2", "scale=smoke", *chosen, *MANY, *more]) == 0
