"""Formulas and values on plain data are what OmegaConf and Hydra make of them."""

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from jumpbench.errors import UserError
from jumpbench.paths import experiment_names
from jumpbench.tables.planning.composition import composed
from jumpbench.tables.planning.fast.formulas import resolved, resolved_but
from jumpbench.tables.planning.fast.values import _set, with_value

ODD = {
    "a": {"b": 1, "c": "${a.b}", "list": ["${x}", {"deep": "${a.c}"}]},
    "x": 2.0, "yes": True, "none": None, "text": "n${x}-${yes}-${none}-${a.c}",
    "whole": "${a}", "through": "${whole.list}", "which": "a", "nested": "${${which}.b}",
    "schedule": "${every_step:3}", "relative": {"p": 4, "q": "${.p}"}, "item": "${a.list[1].deep}",
    "escaped": r"\${x}", "slash": "a\\b", "environment": "${oc.env:NO_SUCH,7}", "dollar": "5$",
}  # fmt: skip


def chosen(value):
    """A configuration with every choice made that an experiment leaves to its user (???)."""
    if isinstance(value, dict):
        return {key: chosen(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [chosen(inner) for inner in value]
    return "mine.Choice" if value == "???" else value


def by_omegaconf(config):
    return OmegaConf.to_container(OmegaConf.create(config), resolve=True, throw_on_missing=True)


def test_every_kind_of_formula_has_omegaconfs_value():
    assert resolved(ODD) == by_omegaconf(ODD)
    assert resolved(ODD)["whole"] is not resolved(ODD)["a"]


@pytest.mark.parametrize(
    "mistake",
    ["${no.such}", "${a", "${x.y}", "${mistake}", "???", "v-${missing}", "${nothing:1}", "${a}${"],
)
def test_a_mistake_is_told_in_omegaconfs_words(mistake):
    config = {"a": {"b": 1}, "x": 2, "missing": "???", "mistake": mistake}
    with pytest.raises((OmegaConfBaseException, RecursionError)) as expected:
        by_omegaconf({**config})
    with pytest.raises(type(expected.value)) as caught:
        resolved(config)
    assert str(caught.value) == str(expected.value)


@pytest.mark.parametrize("experiment", experiment_names())
def test_every_experiment_resolves_as_in_omegaconf(experiment):
    config = chosen(composed(experiment))
    for need in filter(None, (config.get("needs") or {}).values()):
        need["folder"] = "run:0"
    assert resolved(config) == by_omegaconf(config)


def test_formulas_of_kept_nodes_stay():
    node = resolved_but(ODD, "a", ["x"])
    assert node == {"b": 1, "c": 1, "list": ["${x}", {"deep": 1}]}
    assert resolved_but(ODD, "relative", ["x"]) == {"p": 4, "q": 4}
    assert resolved_but({"a": {"b": "???"}}, "a", []) == {"b": "???"}


@pytest.mark.parametrize(
    "text",
    [
        "x=3", "x=null", "x=text", "a.b=[1,2]", "a.list=[]", "a.list=[${x}]", "a=5", "a={b: 7}",
        "a={new: 7}", "a.new=1", "new=1", "+new=1", "+a.new.deep=1", "+x=3", "+none=3", "++x=3",
        "++a={new: 2}", "~x", "~a.list", "~new", "x=${a.b}", "x=${a", "a.list.0=5", "a.list.9=5",
        "whole.b=3", "x.deep=1", "none.deep=1", "x=???", 'x="${a.b}"', "none={a: 1}", "a.list=7",
        "+new={a: 1, b: [2, {c: t}]}", "+new={a: ${x}}", "+new={1: 2}", "+a={z: 1}",
        "x=[[1,2],[3]]", "a.list=[{p: 1}]", "a.list=[{p: ${x}}]", "a.list={p: 1}", "+new={}",
        "+new=[{1: 2}]",
    ],
)  # fmt: skip
def test_a_value_is_set_as_omegaconf_sets_it(text):
    try:
        override = OverridesParser.create().parse_override(text)
    except Exception:
        pytest.skip("Hydra refuses to read it")
    nodes = OmegaConf.create(ODD)
    OmegaConf.set_struct(nodes, True)
    config = OmegaConf.to_container(nodes, resolve=False)
    try:
        _set("e", nodes, override)
    except UserError as error:
        with pytest.raises(UserError) as caught:
            with_value("e", config, override)
        assert str(caught.value) == str(error)
    else:
        assert with_value("e", config, override) == OmegaConf.to_container(nodes, resolve=False)
