"""The samplers that ``jumpbench compare`` compares: the leaderboard's, on a target of one's own.

Rows are read from the leaderboard's tables of graphs (``leaderboard/coupled``) and of lattices
(``leaderboard/ising``), without their columns. A row that is not defined for the target is left
out, with the reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from jumpbench.errors import UserError, innermost, printable
from jumpbench.seeding import make_generator
from jumpbench.tables.language.spec import load
from jumpbench.tables.language.types import Row
from jumpbench.tables.planning.composition import fitting
from jumpbench.tables.planning.gate import construct
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.scalefiles import expanded
from jumpbench.tables.planning.signatures import takes
from jumpbench.targets.base import alike, check_target, random_states
from jumpbench.targets.consistency import check_consistency

GENERAL, LATTICE = "leaderboard/coupled", "leaderboard/ising"
WARM = "DASBS (warm start)"
HOTTER = 3.0
"""A warm start begins at the target's beta divided by this."""


@dataclass(frozen=True)
class Contestant:
    """A row: what it runs, without target and budget, and whether it gives weights."""

    name: str
    experiment: str
    overrides: tuple[str, ...]
    weighted: bool

    def budgeted(self, seconds: float) -> list[str]:
        """The overrides that give it so many seconds; a warm start has two trainings."""
        return [f"budget.seconds={seconds / 2 if self.name == WARM else seconds:g}"]


def contestants() -> list[Contestant]:
    """All rows of the leaderboard that sample an unnormalised law."""
    general, lattice = load(GENERAL), load(LATTICE)
    rows: dict[str, tuple[Row, str]] = {}
    for table in (general, lattice):
        for row in table.rows:
            rows.setdefault(row.name, (row, row.experiment or str(table.experiment)))
    return [
        Contestant(row.name, experiment, _any_column(row), "log_z" in (row.metrics or ()))
        for row, experiment in rows.values()
        if not row.reference
    ]


def _any_column(row: Row) -> tuple[str, ...]:
    """A row's overrides with those of its first column, but for the budget."""
    first = next(iter(row.columns.values()), ())
    return (*row.overrides, *(o for o in first if not o.startswith("budget.")))


def own_target(typed: Sequence[str]) -> Any:
    """The target that overrides name, evaluated on a few states.

    Raises:
        UserError: it cannot be made or evaluated, or what it says of a state depends on more than
            the state.
    """
    node = plan_run("leaderboard/chains", typed).config["method"]["target"]
    name = str(node.get("_target_")).rpartition(".")[2]
    try:
        target = construct(node, "target")
        x = random_states(target, (64,), make_generator(0, "compare"))
    except UserError:
        raise
    except Exception as error:  # whatever code of one's own raises
        cause = innermost(error)
        hint = "; its arguments are target.KEY=value" * isinstance(cause, TypeError)
        raise UserError(f"target {name}: {_words(cause)}{hint}") from None
    before = x.clone()
    try:
        check_target(target, x)
        first, again, few = target.log_prob(x), target.log_prob(x), target.log_prob(x[:5])
    except UserError:
        raise
    except Exception as error:
        shape = tuple(x.shape)
        raise UserError(
            f"{name}.log_prob of {shape[0]} states, a long tensor of shape {shape}: "
            f"{_words(innermost(error))}"
        ) from None
    wrong = {
        "changes the states that it is given": not torch.equal(x, before),
        "gives two numbers for one state: it must depend on the state alone": not alike(
            first, again
        ),
        "of a state depends on the others of its batch": not alike(first[:5], few),
    }
    for words in (words for words, is_so in wrong.items() if is_so):
        raise UserError(f"{name}.log_prob {words}")
    check_consistency(target, x)
    return target


def defined(
    all_rows: Sequence[Contestant], target: Any, typed: Sequence[str]
) -> tuple[list[Contestant], dict[str, str]]:
    """(rows that are defined for the target, {name of another one: why not}).

    Each sampler is made and tried once, on a few states, with what networks it has untrained.
    """
    good, left_out = [], {}
    for row in all_rows:
        if row.name == WARM:
            beta = getattr(target, "beta", None)
            node = plan_run("leaderboard/chains", typed).config["method"]["target"]
            if not isinstance(beta, int | float) or takes(node["_target_"], "beta") is False:
                left_out[row.name] = "the target has no argument beta to start hotter with"
                continue
            row = replace(row, overrides=(*row.overrides, f"warm_up.beta={beta / HOTTER:g}"))
        try:
            run = plan_run(row.experiment, fitted(row, typed))
            _try(construct(run.config["method"], "method", **_unneeded(run)), target)
        except Exception as error:  # a sampler that does not fit fails in a way of its own
            left_out[row.name] = _words(innermost(error))
        else:
            good.append(row)
    return good, left_out


def fitted(row: Contestant, typed: Sequence[str], further: Sequence[str] = ()) -> list[str]:
    """All overrides of a row's run, without what a target of one's own does not take."""
    stated = expanded((*row.overrides, *further))
    return [str(text) for text in fitting(row.experiment, stated, typed)[0]]  # a file holds them


def _unneeded(run: Any) -> dict[str, Any]:
    """What a method that is only tried goes without: a judge, and the folder of another run."""
    return dict.fromkeys({"evaluation", "warm_start"} & set(run.config["method"]))


@torch.no_grad()
def _try(method: Any, target: Any) -> None:
    generator = make_generator(0, "tried")
    if (kernel := getattr(method, "kernel", None)) is not None:
        kernel(target, random_states(target, (2,), generator), 1, generator)
    else:
        method.draw_chains(2, generator)


def _words(error: BaseException) -> str:
    kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
    return printable(f"{kind}{error}".splitlines()[0] if str(error) else kind.rstrip(": "))[:200]
