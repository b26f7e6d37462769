"""A changed key that nothing reads is refused in one line, with the key that is read."""

import pytest

from jumpbench.cli.main import main
from jumpbench.errors import UserError
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.planning.grid import build, unique_runs
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.selection import Selection

SORT = "symmetric_diffusers/sort"
TINY = "scale=symmetric_diffusers/diffuser/smoke"


def said(call, capsys):
    """The one line of a refused command line."""
    assert main(call) == 2
    return " ".join(capsys.readouterr().err.split())


def test_a_swept_rate_that_a_schedule_sets_is_refused(project, capsys):
    """Three equal numbers with three identities otherwise."""
    words = ["sweep", f"experiment={SORT}", TINY, "trainer.max_steps=20", "data.length=3"]
    line = said([*words, "method.optimizer.lr=1e-5,1e-1,100", "metric=accuracy"], capsys)
    assert "nothing reads method.optimizer.lr" in line and "method.scheduler=null" in line
    assert not list((project / "outputs").rglob("sweep.yaml"))


@pytest.mark.parametrize(
    ("experiment", "old", "new"),
    [
        ("dasbs/ising", "data.n_test_batches=2", "data.n_samples"),
        ("dasbs/ising", "method.chains_per_batch=64", "data.batch_size"),
        ("sgdd/mnist", "data.test_size=3", "data.n_samples"),
        ("blackout/samples", "sampling.n_samples=4", "data.n_samples"),
        (SORT, "rate.warmup=4", "scheduler"),
    ],
)
def test_a_key_that_was_renamed_is_refused_by_its_new_name(experiment, old, new):
    with pytest.raises(UserError, match=f"no key '.*': it is called {new} now"):
        plan_run(experiment, [old])


RATES = [
    (
        SORT,
        ["scheduler=symmetric_diffusers/cosine", "scheduler.peak=1e-3"],
        "scheduler (Cosine)",
        "set scheduler.peak, or",
    ),
    (
        SORT,
        ["scheduler=symmetric_diffusers/noam"],
        "scheduler (Noam)",
        "set scheduler.dim or scheduler.warmup, or",
    ),
    ("sgdd/mnist_prior", [], "method.scheduler (Warmup)", "set method.scheduler.peak, or"),
]


@pytest.mark.parametrize(("experiment", "more", "schedule", "keys"), RATES)
def test_the_keys_that_are_read_are_named(experiment, more, schedule, keys):
    with pytest.raises(UserError) as told:
        plan_run(experiment, [*more, "method.optimizer.lr=0.5"])
    assert f"{schedule} sets the rate of every step; {keys} method.scheduler=null" in str(
        told.value
    )
    named = keys.split()[1].rstrip(",")
    assert plan_run(experiment, [*more, f"{named}=7"]).hash != plan_run(experiment, more).hash
    instead = [*more, "method.scheduler=null", "method.optimizer.lr=0.5"]
    assert plan_run(experiment, instead).config["method"]["optimizer"]["lr"] == 0.5


@pytest.mark.parametrize("rate", ["constant", "warm_up"])
def test_a_rate_that_a_schedule_multiplies_is_read(rate):
    run = plan_run(SORT, [f"scheduler=symmetric_diffusers/{rate}", "method.optimizer.lr=0.5"])
    assert run.hash != plan_run(SORT, [f"scheduler=symmetric_diffusers/{rate}"]).hash


def test_a_schedule_of_ones_own_is_asked_what_it_is(project, capsys, monkeypatch):
    (project / "ownrates.py").write_text(
        "from jumpbench.methods.common.learning_rates import RateByStep\n"
        "class Flat(RateByStep):\n"
        "    def __init__(self, optimizer, level): super().__init__(optimizer)\n"
        "    def rate(self, step): return 0.1\n"
    )
    monkeypatch.chdir(project)
    own = [
        "method.scheduler._target_=ownrates.Flat",
        "+method.scheduler.level=2",
        "~method.scheduler.peak",
    ]
    with pytest.raises(
        UserError, match=r"method.scheduler \(Flat\) sets .*set method.scheduler.level"
    ):
        plan_run("sgdd/mnist_prior", [*own, "method.optimizer.lr=0.5"])


def with_settings(project):
    """The coin's experiment with two keys beside its nodes, one of which its method reads."""
    file = project / "conf/experiment/toy/coin.yaml"
    text = file.read_text().replace("bias: 0.5", 'bias: "${chance}"')
    file.write_text(text + "chance: 0.5\nbias: 0.5\n")


@pytest.mark.parametrize(
    "call",
    [
        ["run", "experiment=toy/coin", "bias=0.7"],
        ["sweep", "experiment=toy/coin", "bias=0.7,0.8", "metric=mean"],
        ["sweep", "experiment=toy/coin", "chance=0.7,0.8", "bias=0.9", "metric=mean"],
        ["table", "toy/coins", "scale=smoke", "rows=fair", "bias=0.7"],
        ["status", "toy/coins", "scale=smoke", "rows=fair", "bias=0.7"],
        ["run", "experiment=toy/coin", "chance=0.7", "+chances=0.7"],
    ],
)
def test_a_key_beside_the_nodes_that_no_run_reads(project, capsys, call):
    with_settings(project)
    line = said(call, capsys)
    assert "nothing reads" in line
    if "+chances=0.7" not in call:
        assert "nothing reads bias; read are method.bias" in line
    assert not (project / "trace").exists()


@pytest.mark.parametrize(
    "words",
    [["chance=0.7"], ["bias=0.5"], ["name=mine"], ["checkpoint_every=3"], ["data.num_workers=0"],
     ["resources.cpus=1"], ["method.bias=0.25", "chance=0.5"], ["data.n=4", "data.n=5"]],
)  # fmt: skip
def test_what_is_read_or_changes_nothing_is_not_refused(project, words):
    """Also a value that is there already, and keys that no identity holds."""
    with_settings(project)
    words = ["+" + word if word.startswith("data.num") else word for word in words]
    assert main(["run", "experiment=toy/coin", *words]) in (0, 1)


def test_of_a_table_one_run_is_enough(project):
    """One row reads the key, another does not."""
    for name in ("coin", "walk"):
        file = project / f"conf/experiment/toy/{name}.yaml"
        text = file.read_text().replace("n_samples: 500", 'n_samples: "${count}"')
        file.write_text(text + "count: 500\n")
    table = ["status", "toy/coins", "scale=smoke"]
    assert main([*table, "count=100"]) == 1  # the runs of a row and column read it: not made yet
    assert main([*table, "rows=walk", "count=100"]) == 2
    assert main([*table, "rows=fair", "columns=large n", "count=100"]) == 2


def test_what_lies_beneath_an_argument_that_is_not_set_is_told_as_that(project, capsys):
    line = said(["run", "experiment=toy/second", "method.evaluation.floor=1"], capsys)
    assert "did you mean 'method.evaluation'" not in line


@pytest.mark.slow
def test_no_table_changes_a_rate_that_nothing_reads():
    """Planning refuses it; every table at every scale is planned."""
    for name in available():
        for scale in (table := load(name)).scales:
            assert unique_runs(build(table, Selection(scale, "1")))  # seeds share rates
