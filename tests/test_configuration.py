"""The configuration stays small enough to be read: few files, few of them in one run, and a choice
of a group is the whole of what it is chosen for."""

import pytest

from jumpbench.paths import conf_dirs, experiment_names
from jumpbench.tables.planning.composition import composed
from jumpbench.tables.planning.hydra_groups import composed_files
from jumpbench.tables.planning.nodes import TYPED
from jumpbench.tables.planning.places import places

CONF = conf_dirs()[-1]


def test_there_are_few_files():
    assert len(list(CONF.rglob("*.yaml"))) <= 281


@pytest.mark.parametrize("experiment", experiment_names())
def test_a_composition_reads_few_files(experiment):
    files = [name for name, _ in composed_files(experiment, ())]
    assert len(files) <= 8, files


@pytest.mark.parametrize(
    ("experiment", "choice", "node", "last"),
    [("dnfs/ising", "network=dnfs/leconv", "network", "LeConv"),
     ("dnfs/short_chains", "kernel=dnfs/dmala", "kernel", "DiscreteLangevin"),
     ("blackout/samples", "corrector=blackout/quarter", "corrector", "Corrector")],
)  # fmt: skip
def test_an_option_replaces_a_node_that_the_experiment_states(experiment, choice, node, last):
    """Nothing of the class that stood there stays (``hidden``, ``repeats``)."""
    name = choice.partition("=")[2]
    chosen = composed(experiment, [choice])[node]
    assert chosen["_target_"].rpartition(".")[2] == last
    assert not {"hidden", "repeats"} & set(chosen)
    file = places(experiment, [(choice, TYPED)]).of((node, "_target_"))[0].file
    assert file == CONF / node / f"{name}.yaml"
    changed = composed(experiment, [choice, f"+{node}.extra=3"])[node]
    assert changed == {**chosen, "extra": 3}
