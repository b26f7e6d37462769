"""Code of one's own is part of a run's identity: what it does, of what the run constructs."""

import re

import pytest

from jumpbench.errors import UserError
from jumpbench.tables.planning.owncode import own_code
from jumpbench.tables.planning.plan import plan_run

ENERGY = """\
from jumpbench.targets.base import Target
from couplings import COUPLING
import couplings

def pairs(x):
    return x == x.roll(1, -1)

class Above(Target):
    length, n_states = 4, 2

class Ring(Above):
    \"\"\"A ring.\"\"\"

    def log_prob(self, x):
        return COUPLING * couplings.scale(pairs(x).sum(-1).float())

class Other(Target):
    length = 9
"""
COUPLINGS = "COUPLING = 0.5\nUNUSED = 1\n\ndef scale(x):\n    return 2 * x\n"


@pytest.fixture
def own(own_modules):
    """Returns a function that writes both modules with a change."""

    def write(old="", new=""):
        texts = {"rings": ENERGY, "couplings": COUPLINGS}
        own_modules({name: t.replace(old, new) if old else t for name, t in texts.items()})

    write()
    return write


def identified():
    return plan_run("leaderboard/chains", ["target=rings.Ring"]).hash


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("COUPLING * couplings", "2 * couplings"), ("x.roll(1, -1)", "x.roll(2, -1)"),
        ("length, n_states = 4, 2", "length, n_states = 5, 2"), ("return 2 * x", "return 3 * x"),
        ("COUPLING = 0.5", "COUPLING = 0.6"),
    ],
)  # fmt: skip
def test_an_edited_energy_is_another_one(own, old, new):
    """In its class, in one above it, or in what they name, of another module too."""
    before = identified()
    own(old, new)
    assert identified() != before
    own()
    assert identified() == before


@pytest.mark.parametrize(
    ("old", "new"),
    [("A ring.", "Spins."), ("def pairs(x):", "def pairs(x):  # neighbours"),
     ("UNUSED = 1", "UNUSED = 2"), ("length = 9", "length = 10")],
)  # fmt: skip
def test_what_does_nothing_in_a_run_changes_no_identity(own, old, new):
    before = identified()
    own(old, new)
    assert identified() == before


def test_the_suites_code_has_versions_instead():
    assert own_code(plan_run("leaderboard/chains", ["target=leaderboard/glass"]).config) == {}


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("rinks.Ring", "there is no module 'rinks'; did you mean 'rings'?"),
     ("mine.Ring", "there is no module 'mine' in this folder or on PYTHONPATH"),
     ("rings.Rign", "rings has no 'Rign'; did you mean 'Ring'?")],
)  # fmt: skip
@pytest.mark.parametrize("more", [[], ["target.length=5"]])
def test_a_mistyped_name_is_what_is_wrong_whatever_is_given_with_it(own, name, wrong, more):
    if name == "rings.Rign" and not more:
        return  # planning imports nothing; the run says so
    with pytest.raises(UserError, match=re.escape(wrong)):
        plan_run("leaderboard/chains", [f"target={name}", *more])


def test_what_lies_elsewhere_is_refused_and_not_called_missing(own):
    with pytest.raises(UserError, match=r"may not call 'yaml\.load'"):
        plan_run("leaderboard/chains", ["target=yaml.load"])
