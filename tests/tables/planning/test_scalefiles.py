"""Group files of conf/scale stand for the overrides that they state."""

import pickle

import pytest

from jumpbench.errors import UserError
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.scalefiles import expanded, spelled
from jumpbench.tables.planning.selection import Selection

FILE = """\
tiny:
  smoke:
    defaults:
      - override /logger: wandb
    data: {n: 4}
    method:
      n_samples: 50
      fail: "a, b = c"
    ~method.sleep: null
  small: {data: {n: 5}}
"""


@pytest.fixture
def scale_file(project):
    path = project / "conf/scale/toy.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(FILE)
    return path


def test_a_file_says_what_the_list_would(scale_file):
    listed = ["logger=wandb", "data.n=4", "method.n_samples=50", 'method.fail="a, b = c"',
              "~method.sleep"]  # fmt: skip
    assert expanded(["a=1", "scale=toy/tiny/smoke", "b=2"]) == ["a=1", *listed, "b=2"]
    run = plan_run("toy/coin", expanded(["scale=toy/tiny/smoke"]))
    assert run.hash == plan_run("toy/coin", listed).hash
    assert run.config["method"]["fail"] == "a, b = c" and run.config["data"]["n"] == 4


def test_it_applies_where_it_stands(scale_file, project):
    """A row's override before the scale loses against it, the command line wins."""
    table = project / "reproduce/toy/coins.yaml"
    text = table.read_text().replace("smoke: {", "smoke: {overrides: [scale=toy/tiny/smoke], ")
    text = text.replace("[method.bias=0.5]", "[method.bias=0.5, method.n_samples=7]")
    table.write_text(text)

    def samples(*overrides):
        chosen = Selection("smoke", rows="fair", columns="small n", overrides=overrides)
        return build(load("toy/coins"), chosen)[0].runs[0].config["method"]["n_samples"]

    assert samples() == 50
    assert samples("method.n_samples=9") == 9


@pytest.mark.parametrize(
    ("content", "words"),
    [("- a", "is a mapping"), ("tiny: {smoke: 3}", "is a mapping"), ("a: [", "not valid YAML"),
     ("tiny: {smoke: {defaults: [x]}}", "override /GROUP"),
     ("tiny: {smoke: {1: 2}}", "must be text")],
)  # fmt: skip
def test_mistakes_name_the_file(scale_file, content, words):
    scale_file.write_text(content)
    with pytest.raises(UserError, match=words) as caught:
        expanded(["scale=toy/tiny/smoke"])
    assert str(scale_file) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [("toy/tinny/smoke", "did you mean 'toy/tiny/smoke'"), ("toy/tiny", "with one of smoke, small"),
     ("toy/tiny/paper", "no scale 'toy/tiny/paper'; did you mean 'toy/tiny/s"),
     ("../experiment/toy/coin/smoke", "no file"), ("tony", "no file")],
)  # fmt: skip
def test_what_does_not_exist_is_named_with_what_does(scale_file, name, words):
    with pytest.raises(UserError, match=words):
        expanded([f"scale={name}"])


def test_each_scale_of_a_file_is_its_own(scale_file):
    assert expanded(["scale=toy/tiny/small"]) == ["data.n=5"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "null"), (True, "true"), (1.5, "1.5"), ([1, "a b"], '[1,"a b"]'), ("x.Y", "x.Y"),
     ("true", '"true"'), ("${a.b}", "${a.b}"), ({"a": "t.C", "n": 2}, "{a: t.C, n: 2}"),
     ("", '""'), ('say "hi"', '"say \\"hi\\""')],
)  # fmt: skip
def test_values_in_the_grammar_of_overrides(value, text):
    assert spelled(value) == text


def test_every_step_is_a_schedule(project):
    run = plan_run("toy/coin", ["+method.steps=${every_step:3}"])
    assert run.config["method"]["steps"] == [0, 1, 2, 3]
    assert run.hash == plan_run("toy/coin", ["+method.steps=[0,1,2,3]"]).hash


def test_steps_can_be_a_multiple_of_others(project):
    run = plan_run("toy/coin", ["+method.steps=${times:2,checkpoint_every}", "checkpoint_every=30"])
    assert run.config["method"]["steps"] == 60
    with pytest.raises(UserError, match=r"data\.none is no whole number in the configuration"):
        plan_run("toy/coin", ["+method.steps=${times:2,data.none}"])


def test_the_scale_of_another_method_is_named_and_the_own_one(scale_file):
    scale_file.write_text("coin: {smoke: {data: {n: 3}}}\ntiny: {smoke: {method: {heads: 3}}}\n")
    own = r"scale=toy/tiny/smoke: it does not fit \(method.heads=3\); did you mean 'scale=toy/coin/"
    with pytest.raises(UserError, match=own):
        plan_run("toy/coin", expanded(["scale=toy/tiny/smoke"]))
    with pytest.raises(UserError, match=r"scale=toy/tiny/smoke: no key 'method\.heads'"):
        plan_run("toy/walk", expanded(["scale=toy/tiny/smoke"]))
    with pytest.raises(UserError, match=r"no key 'method\.heads'"):  # typed, not stated
        plan_run("toy/coin", ["method.heads=3"])


def test_what_a_scale_states_travels_to_other_processes(scale_file):
    (text,) = expanded(["scale=toy/tiny/small"])
    again = pickle.loads(pickle.dumps(text))
    assert (again, again.scale) == ("data.n=5", "scale=toy/tiny/small")
