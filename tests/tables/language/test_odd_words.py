"""Places, names and values that no run can have: one clear line each, and nothing is written."""

import pytest

from jumpbench.cli.main import main
from jumpbench.tables.planning import plan
from jumpbench.tables.planning.plan import plan_run

STATUS = ["status", "toy/coins", "scale=smoke"]
LONG = "a" * 300


def refused(arguments, capsys, told):
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert told in shown.err and shown.err.startswith("error: ") and shown.err.count("\n") == 1
    return shown.err


PLACES = {
    "~nosuchuser/x": "there is no user 'nosuchuser'",
    f"/tmp/{LONG}": "at most 255 letters",
    "/tmp/" + "a/" * 2500: "at most 3000 letters",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("variable", "command"),
    [("OUTPUTS", STATUS), ("CONF", STATUS), ("REPRODUCE", STATUS), ("DATA", ["data", "mnist"])],
)
def test_places_that_there_cannot_be(project, capsys, monkeypatch, place, variable, command):
    monkeypatch.setenv(f"JUMPBENCH_{variable}", place)
    assert f"JUMPBENCH_{variable}" in refused(command, capsys, PLACES[place])


def test_a_file_is_no_folder_of_data(project, capsys, monkeypatch):
    monkeypatch.setenv("JUMPBENCH_DATA", __file__)
    refused(["data", "mnist"], capsys, "is no folder")


def test_outputs_are_taken_literally(project, monkeypatch):
    place = project / "${oc.env:HOME} ${seed}"
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(place))
    assert main(["run", "experiment=toy/second"]) == 0
    assert (plan_run("toy/second").folder / "metrics.json").is_file()
    assert plan_run("toy/second").folder.is_relative_to(place)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (f"name={LONG}", "give a name of at most 200 letters"),
        ("~name", "give a name of at most 200 letters"),
        ("name=[1]", "give a name of at most 200 letters"),
        (f"{LONG}=1", "no key"),
        (f"data={LONG}", "experiment toy/coin"),
        (f"scale={LONG}/x/smoke", "no file of conf/scale"),
        ("seed=-1", "seed=-1: give a whole number from 0 to 4294967295"),
        ("seed=99999999999999999999", "give a whole number from 0 to 4294967295"),
        ("seed=1.5", "give a whole number from 0 to 4294967295"),
        ("seed=null", "give a whole number from 0 to 4294967295"),
    ],
)
def test_what_no_run_can_be_called(project, capsys, name, told):
    refused(["run", "experiment=toy/coin", name], capsys, told)
    assert not (project / "outputs").exists()


@pytest.mark.parametrize("words", [[f"{LONG}/{LONG}"], [f"{LONG}"], [f"sweep/{LONG}"]])
def test_tables_of_long_names(project, capsys, words):
    refused(["status", *words], capsys, "no table")


@pytest.mark.parametrize("place", ["conf/experiment/toy/coin.yaml", "reproduce/toy/coins.yaml"])
@pytest.mark.parametrize(
    "text", ["x: &a [*a]\n", "x: &a {b: *a}\n", "[1\n", b"x: \xff\xfe\n", "3\n"]
)
def test_a_file_that_is_none_is_named(project, capsys, place, text):
    file = project / place
    old = file.read_bytes()
    file.write_bytes(old + text if isinstance(text, bytes) else old + text.encode())
    plan.forget()
    line = refused(STATUS, capsys, "")
    assert "coins.yaml" in line or "experiment toy/coin" in line
    assert main(["list"]) == 0 and main(["experiments"]) == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [("3\n", "coin.yaml is no mapping of keys"), ("{}  3: 1\n", "the key 3 must be text")],
)
def test_a_configuration_that_is_none(project, capsys, text, told):
    file = project / "conf/experiment/toy/coin.yaml"
    method = "method:\n  _target_: toys.Coin\n"
    good = file.read_text().split("method:")[0] + method
    file.write_text(text.replace("{}", good))
    plan.forget()
    refused(STATUS, capsys, told)


def test_a_scale_that_contains_itself(project, capsys):
    file = project / "conf/scale/toy.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("odd: {smoke: {method: &a {bias: [*a]}}}\n")
    refused(["run", "experiment=toy/coin", "scale=toy/odd/smoke"], capsys, "contains itself")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["experiment=toy/coin", "data.n=1,1"], "data.n=1,1: 1 stands twice"),
        (["experiment=toy/coin", "data.n=1,2", "data.n=3,4"], "data.n is swept twice"),
        (["experiment=toy/coin", "~method=glob(*)"], "give the values, separated by commas"),
        (["experiment=toy/coin", "method.fail=glob(*)"], "give the values, separated by commas"),
        (["experiment=toy/", "~method=glob(*)"], "give the values, separated by commas"),
        (["experiment=toy/coin", "~method.bias=1,2"], "give the values, separated by commas"),
        (["experiment=toy/coin", "seed=0,-1"], "a sweep takes seeds=3 or seeds=[0,2], not seed="),
        (["experiment=toy/coin", 'method.fail=a,"b\x01"'], "control characters"),
    ],
)
def test_sweeps_that_could_not_be_read_again(project, capsys, words, told):
    refused(["sweep", *words, "metric=mean"], capsys, told)
    assert not (project / "outputs").exists()


def test_options_of_a_launcher_that_are_no_yaml(project, capsys):
    pytest.importorskip("ray")
    for text in ("[", "&a [*a]", "${x}"):
        refused(
            ["run", "experiment=toy/coin", "launcher=ray", f"launcher.cpus={text}"], capsys, "give"
        )


@pytest.mark.slow
def test_data_and_report_say_what_they_do(project, own_page, capsys, monkeypatch):
    """Also where standard error is no terminal."""
    assert main(["table", "toy/coins", "scale=smoke"]) == 0
    capsys.readouterr()
    assert main(["report"]) == 0
    assert "1 table" in capsys.readouterr().err
    monkeypatch.setenv("JUMPBENCH_DATA", str(project))
    main(["data", "lakh_pianoroll", "gosai"])
    said = capsys.readouterr().err
    assert "reading lakh_pianoroll" in said and "reading gosai" in said
