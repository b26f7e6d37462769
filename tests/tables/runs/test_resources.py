"""What a launcher sets aside for a run."""

import pytest

from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.runs.resources import Resources


@pytest.mark.parametrize(
    ("trainer", "asked", "cpus"),
    [
        ({}, {}, 1),
        ({"devices": 4, "accelerator": "gpu"}, {}, 4),
        ({"devices": [2, 3], "accelerator": "gpu"}, {"cpus": None}, 2),
        ({"devices": "2"}, {"cpus": 9}, 9),
        ({"devices": "auto"}, {}, 1),
    ],
)
def test_every_device_has_a_core_unless_the_run_says_how_many(trainer, asked, cpus):
    made = Resources.of({"trainer": trainer, "resources": asked})
    assert made.cpus == cpus and isinstance(made.cpus, int)


def test_neither_cores_nor_devices_make_another_run(project):
    plain = plan_run("toy/walk")
    for overrides in (["trainer.devices=2"], ["resources.cpus=2"]):
        assert plan_run("toy/walk", overrides).hash == plain.hash
