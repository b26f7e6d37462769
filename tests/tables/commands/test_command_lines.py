"""No command line, however bad, ends in a traceback, and none of the bad ones in success."""

import dataclasses
import json
import re
import string
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jumpbench.cli.commandline import Command
from jumpbench.cli.commands import COMMANDS
from jumpbench.cli.main import main
from jumpbench.errors import UserError
from jumpbench.tables.launchers import options_of

WORDS = st.sampled_from(
    [
        "table", "status", "list", "run", "report", "data", "tabel", "--help", "--version", "-x",
        "toy/coins", "toy/*", "all", "toy", "toy/", "../toy/coins", "scale=small", "scale=",
        "scale=tiny", "seeds=0", "seeds=[0", "seeds=-1", "rows=fair", "rows=", "rows=nobody",
        "columns=[]", "columns=small n", "launcher=ray", "launcher=none", "experiment=toy/coin",
        "experiment=toy/none", "experiment=../../x", "method.bias=x", "method.bias=[", "a.b.c=1",
        "=", "==", "+=1", "~", "~method", "++a=b", "trainer=none", "data=nothing", "seed=1",
        "sweep", "completion", "experiments", "plan", "metric=mean", "--serve", "--json", "port=x",
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
    for command in COMMANDS:
        assert f"\n  {command} " in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_a_help_of_its_own(name, capsys):
    command = COMMANDS[name]
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: jumpbench {name}") and command.summary in shown
    assert all(f"\n  {key}=" in shown for key in command.keys)
    assert all(f"\n  {flag} " in shown for flag in command.flags)


def test_the_nearest_key_is_offered_and_flags_stand_anywhere(project, capsys):
    for words, offered in (
        (["table", "toy/coins", "scael=smoke"], "did you mean 'scale'"),
        (["table", "toy/coins", "row=fair"], "did you mean 'rows'"),
        (["run", "experiment=toy/coin", "method.bais=0.1"], "did you mean 'method.bias'"),
        (["run", "experimnt=toy/coin"], "did you mean 'experiment'"),
        (["run", "toy/coin"], "takes keys only, not 'toy/coin'; write experiment=toy/coin"),
        (["table", "toy/coins", "--fresh"], "unknown option '--fresh'"),
        (["experiments", "toy/coins"], "experiments takes no arguments, not 'toy/coins'"),
        (["list", "toy/coin"], "no table 'toy/coin'; did you mean 'toy/coins'?"),
        (["plan", "toy/coins", "fresh=true"], "makes no run"),
    ):
        assert main(words) == 2
        assert offered in capsys.readouterr().err
    assert main(["status", "--json", "toy/coins", "scale=smoke"]) == 1
    assert json.loads(capsys.readouterr().out)["missing"] == 5


@pytest.mark.slow
def test_words_for_a_number_are_told_before_torch_starts(project):
    """In a process of its own: planning is enough to see it."""
    code = (
        "import sys; from jumpbench.cli.main import main\n"
        "status = main(['run', 'experiment=toy/coin', sys.argv[1]])\n"
        "print(status, 'torch' in sys.modules)"
    )
    for word, told in (
        ("method.bias=much", "method.bias takes a number (it is 0.5 without it)"),
        ("method.n_samples=true", "method.n_samples takes a number"),
        ("data.missing=3", "data.missing takes true or false"),
        ("seed=one", "seed takes a number"),
    ):
        command = [sys.executable, "-c", code, word]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=project)
        assert done.stdout.split() == ["2", "False"] and told in done.stderr, done.stderr


def test_a_comparison_without_seconds_is_refused_before_anything_is_imported(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "jumpbench.tables.commands.compare", None)  # no import of it
    assert main(["compare", "target=mine.Energy"]) == 2
    assert "how long? give budget=60" in capsys.readouterr().err


def test_nearest_names_are_offered(project, capsys):
    assert main(["tabel", "toy/coins"]) == 2
    assert "did you mean 'table'" in capsys.readouterr().err
    assert main(["table", "toy/coin"]) == 2
    assert "did you mean 'toy/coins'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["table", "ising"], "no table 'ising'; did you mean 'leaderboard/ising'?"),
        (["table", "sgdd/ising"], "no table 'sgdd/ising'; did you mean 'leaderboard/ising'?"),
        (["table", "isng"], "no table 'isng'; did you mean 'leaderboard/ising'?"),
        (["table", "sgdd"], "no table 'sgdd'; 'sgdd/*' is all tables of sgdd"),
        (["table", "sgdd/"], "no table 'sgdd/'; 'sgdd/*' is all tables of sgdd"),
        (["table", "table7"], "did you mean 'symmetric_diffusers/table7'?"),
        (["status", "table3"], "did you mean 'blackout/table3', 'dasbs/table3', 'dnfs/table3', "
                               "'sgdd/table3', 'symmetric_diffusers/table3'?"),
        (["table", "dasbs/tabel2"], "did you mean 'dasbs/table2'?"),
        (["table", "sgdd/table2", "scale", "smoke"], "a key of table; write scale=smoke"),
        (["run", "experiment", "toy/coin"], "a key of run; write experiment=toy/coin"),
        (["table", "sgdd/table2", "rows"], "a key of table; write rows=..."),
        (["price"], "no command 'price'; there are: table, status, plan, gpu, show, list, run, "),
        (["show", "experiment=dasbs"], "no experiment 'dasbs'; there are: dasbs/"),
        (["models", "check", "sgdd"], "no model 'sgdd'; 'sgdd/*' is all models of sgdd"),
    ],
)  # fmt: skip
def test_a_name_without_its_folder_or_a_key_without_its_sign(capsys, words, told):
    assert main(words) == 2
    line = capsys.readouterr().err
    assert told in line and line.count("\n") == 1
    assert ", ...\n" not in line or words[0] != "price"  # every command is listed


def test_the_list_takes_the_patterns_of_a_table(capsys):
    assert main(["list", "--json", "dasbs/table*", "sgdd/table2"]) == 0
    listed = [entry["table"] for entry in json.loads(capsys.readouterr().out)["tables"]]
    assert listed == ["dasbs/table2", "dasbs/table3", "sgdd/table2"]
    assert main(["list", "sgdd/table2"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("cost, smoke/small/medium/paper: A up to") and "dasbs" not in shown
    assert main(["list", "--help"]) == 0
    assert "usage: jumpbench list [SLUG/TABLE ...] [--json]\n" in capsys.readouterr().out


def test_no_usage_has_a_double_space(capsys):
    for command in (*COMMANDS.values(), Command(lambda call: 0, "", flags={"--json": ""})):
        assert "  " not in command.parser("name").format_usage()


def test_a_launcher_without_its_package_says_how_to_get_it(project, capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for name in ("ray", "slurm"):
        assert main(["table", "toy/coins", f"launcher={name}"]) == 2
        shown = capsys.readouterr().err
        assert f"pip install -e '.[{name}]'" in shown
    assert not (project / "outputs").exists()


def test_options_of_a_launcher_are_checked(project, capsys):
    assert main(["table", "toy/coins", "launcher.address=auto"]) == 2
    told = capsys.readouterr().err
    assert "launcher.address=auto: launcher=serial has no options; add launcher=ray or" in told
    assert main(["status", "toy/coins", "launcher.wait=true"]) == 2
    assert "status makes no run; leave out launcher.wait=true" in capsys.readouterr().err
    for options, line in {
        ("wiat=true",): "did you mean 'wait'?",
        ("wait=perhaps",): "launcher.wait=perhaps: give true or false",
        ("minutes=1.5",): "launcher.minutes=1.5: give a whole number",
        ("share=[",): "launcher.share=[: give a number",
        ("extra=x",): "give launcher.extra.NAME=VALUE",
    }.items():
        with pytest.raises(UserError, match=re.escape(line)):
            options_of("slurm", _Place, [f"launcher.{option}" for option in options])
    several = ["launcher.wait=true", "launcher.extra.mail-type=END", "launcher.share=1"]
    assert options_of("slurm", _Place, several) == {
        "wait": True, "extra": {"mail-type": "END"}, "share": 1,
    }  # fmt: skip


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_a_scale_of_tables_names_those_that_a_run_takes(capsys, command):
    assert main([command, "experiment=dasbs/ising", "method.n_steps=2,3", "scale=smoke"]) == 2
    told = capsys.readouterr().err
    assert "scale=smoke is for tables (jumpbench table SLUG/TABLE scale=smoke)" in told
    assert "dasbs/sampler/smoke" in told and "dasbs/sampler/small" not in told
    assert main([command, "experiment=dasbs/ising", "scale=tiny"]) == 2
    assert "dasbs/sampler/small" in capsys.readouterr().err


@dataclasses.dataclass
class _Place:
    minutes: int = 10
    share: float | None = None
    extra: dict[str, str] = dataclasses.field(default_factory=dict)
    wait: bool = False
