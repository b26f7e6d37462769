"""``jumpbench plan TABLES within=8h``: which tables decide most of what is open in a given time."""

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from jumpbench.errors import UserError
from jumpbench.tables.commands.estimates import ExpectedCost, duration
from jumpbench.tables.commands.preview import still_to_make
from jumpbench.tables.commands.recorded_views import decided_claims
from jumpbench.tables.commands.run_seconds import estimate
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.price.machines import Machine
from jumpbench.tables.views.console import console, words

_UNITS = {"s": 1, "min": 60, "m": 60, "h": 3600, "d": 86400}


@dataclass
class Candidate:
    """A table, the claims that it may decide and no record has decided, and what it takes."""

    table: str
    claims: list[str]
    cost: ExpectedCost = field(default_factory=ExpectedCost)

    def open_claims(self) -> str:
        """``2 open claims (first, second)``."""
        count = len(self.claims)
        return f"{count} open claim{'s'[: count > 1]} ({', '.join(self.claims)})"

    def added(self, taken: set[str]) -> float:
        """Seconds of its runs that are not taken yet."""
        return sum(s for run, s in self.cost.seconds.items() if run not in taken)


def seconds_of(text: str) -> float:
    """``8h``, ``90min``, ``2d``.

    Raises:
        UserError: anything else.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]+)", text.strip())
    if not found or found[2] not in _UNITS or not float(found[1]):
        raise UserError(f"within={text[:40]}: give a time such as 8h, 90min or 2d")
    return float(found[1]) * _UNITS[found[2]]


def choose(candidates: Sequence[Candidate], seconds: float, count: int = 1) -> list[Candidate]:
    """Tables to make in ``seconds`` on ``count`` machines side by side.

    Greedy: as long as one fits, the one with the most claims per second of its runs that are not
    chosen yet. No run may take longer than there is; how runs wait for each other is not looked at.
    A table without a run to make is not chosen: its claims are open with all of its runs.
    """
    chosen: list[Candidate] = []
    taken: set[str] = set()
    left = seconds * count
    open_ones = [c for c in candidates if c.claims and c.cost.seconds and not c.cost.unknown]
    open_ones = [c for c in open_ones if max(c.cost.seconds.values()) <= seconds]
    while fitting := [c for c in open_ones if c.added(taken) <= left]:
        best = max(fitting, key=lambda c: len(c.claims) / max(c.added(taken), 1e-9))
        chosen.append(best)
        left -= best.added(taken)
        taken |= best.cost.seconds.keys()
        open_ones.remove(best)
    return chosen


def print_choice(
    tables: Sequence[str],
    selection: Selection,
    seconds: float,
    machine: Machine | None,
    recorded: bool = False,
) -> None:
    """What to run, with cost and claims, the command, and what could not be chosen and why."""
    out, count = console(), machine.count if machine else 1
    candidates = list(_candidates(tables, selection, machine, recorded))
    chosen = choose(candidates, seconds, count)
    total = ExpectedCost()
    for one in chosen:
        total.add(one.cost)
        line = f"{one.table}: {one.open_claims()}, {duration(one.cost.total)}"
        out.print(words(out, line), soft_wrap=True)
    for one in candidates:
        line = f"{one.table} has all its runs, and {one.open_claims()}"
        if one.cost.unknown:
            reasons = "; ".join(dict.fromkeys(one.cost.why.values()))
            line = f"{one.table} has no price: {reasons}"
        if one.cost.unknown or not one.cost.seconds:
            out.print(words(out, line, "dim"), soft_wrap=True)
    if not chosen:
        out.print(words(out, f"no table decides an open claim in {duration(seconds)}"))
        return
    n = sum(len(one.claims) for one in chosen)
    out.print(
        words(
            out, f"{n} claims in about {duration(total.total / count)}"
            + (f" on {count} devices" if count > 1 else ""), "bold",
        )
    )  # fmt: skip
    given = [*(one.table for one in chosen), *selection.words()]
    given += ["launcher=ray"] * (count > 1) + ["recorded=true"] * recorded
    out.print(words(out, f"jumpbench table {shlex.join(given)}"), soft_wrap=True)


def _candidates(
    tables: Sequence[str], selection: Selection, machine: Machine | None, recorded: bool
) -> Iterator[Candidate]:
    for number, table_id in enumerate(tables, 1):
        table = load(table_id)
        if selection.scale not in table.scales:
            continue
        done = decided_claims(table_id)
        deciding = [c.id for c in table.claims if selection.scale in table.deciding(c)]
        claims = [claim for claim in deciding if claim not in done]
        if not claims:
            continue
        grid, runs = still_to_make(table, selection, recorded)
        place = f"{number} of {len(tables)}"
        line = f"pricing {table_id} ({place}), up to a minute for each kind of run ..."
        print(line, file=sys.stderr, flush=True)
        cost = estimate(table_id, selection.scale, grid, runs, machine, count=True)
        yield Candidate(table_id, claims, cost)
