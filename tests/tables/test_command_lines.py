"""No command line, however bad, ends in a traceback, and none of the bad ones in success."""

import string

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jumpbench.cli import main

WORDS = st.sampled_from(
    [
        "table", "status", "list", "run", "report", "data", "tabel", "--help", "--version", "-x",
        "toy/coins", "toy/*", "all", "toy", "toy/", "../toy/coins", "scale=small", "scale=",
        "scale=tiny", "seeds=0", "seeds=[0", "seeds=-1", "rows=fair", "rows=", "rows=nobody",
        "columns=[]", "columns=small n", "launcher=ray", "launcher=none", "experiment=toy/coin",
        "experiment=toy/none", "experiment=../../x", "method.bias=x", "method.bias=[", "a.b.c=1",
        "=", "==", "+=1", "~", "~method", "++a=b", "trainer=none", "data=nothing", "seed=1",
        "hydra.run.dir=x", "--record", "--readme", "nothing", "name=", "stages=[dance]",
    ]
)  # fmt: skip
JUNK = st.text(string.printable + "äβ\x00\ud7ff€", max_size=12)
BAD = ["scale=tiny", "rows=nobody", "seeds=-1", "launcher=none", "a.b.c=1", "nonsense"]


def tried(arguments, capsys):
    status = main(arguments)
    shown = capsys.readouterr()
    assert "Traceback" not in shown.out + shown.err
    assert status in (0, 1, 2)
    if status == 2:
        assert shown.err.startswith("error: ") and shown.err.count("\n") == 1, shown.err
    return status


@settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.one_of(WORDS, JUNK), max_size=4), st.sampled_from(BAD))
def test_bad_command_lines(project, capsys, words, bad):
    arguments = [*words, bad]
    if arguments[0] in ("--help", "-h", "--version", "help") or {"-h", "--help"} & set(arguments):
        assert tried(arguments, capsys) in (0, 2)
    else:
        assert tried(arguments, capsys) == 2


def test_help_names_every_command(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for command in ("table", "status", "list", "run", "report", "data"):
        assert f"\n  {command} " in shown


def test_nearest_names_are_offered(project, capsys):
    assert main(["tabel", "toy/coins"]) == 2
    assert "did you mean 'table'" in capsys.readouterr().err
    assert main(["table", "toy/coin"]) == 2
    assert "did you mean 'toy/coins'" in capsys.readouterr().err


def test_a_launcher_of_a_later_version_is_refused(project, capsys):
    for name in ("ray", "slurm"):
        assert main(["table", "toy/coins", f"launcher={name}"]) == 2
        shown = capsys.readouterr().err
        assert f"launcher={name} is not part of this version; use launcher=serial" in shown
    assert not (project / "outputs").exists()
