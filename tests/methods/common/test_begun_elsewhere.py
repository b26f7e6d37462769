"""A checkpoint of several processes: training goes on on as many, a test on any number."""

import pytest
import torch
from toys import Walk

from jumpbench.data.numbers import Numbers
from jumpbench.errors import UserError
from support import quiet_trainer


@pytest.fixture
def of_two(tmp_path):
    """The checkpoint of three steps, as two processes write it that counted seven each."""
    method, trainer = Walk(), quiet_trainer(3)
    method.meter.network, method.meter.energy = 7, 3
    trainer.fit(method, Numbers())
    file = tmp_path / "two.ckpt"
    trainer.save_checkpoint(file)
    content = torch.load(file, weights_only=True)
    torch.save({**content, "other_processes": [method.own_state()]}, file)
    return file


def test_training_goes_on_on_the_devices_that_it_was_begun_on(of_two):
    with pytest.raises(UserError, match=r"begun on 2 devices.*set trainer.devices"):
        quiet_trainer(6).fit(Walk(), Numbers(), ckpt_path=of_two, weights_only=True)


def test_a_finished_training_is_tested_on_any_and_counts_what_all_spent(of_two):
    method = Walk()
    quiet_trainer(3).fit(method, Numbers(), ckpt_path=of_two, weights_only=True)
    assert (method.spent.network_evaluations, method.spent.energy_evaluations) == (14, 6)
