"""``jumpbench compare``: all samplers of the leaderboard on a target of one's own.

The comparison is a table file like any other (``outputs/tables/compare/NAME/compare.yaml``), so
that it resumes, is planned and shown as any other. Errors are those against the enumerated law, or
against a long run of parallel tempering, if that has converged by its own diagnostics. Samples are
judged against the run afterwards, so that a longer one makes no sampler run again.
"""

import hashlib
import math
import re
from collections.abc import Sequence
from typing import Any

import yaml

from jumpbench.errors import UserError
from jumpbench.evaluations.exact_laws import ExactLaws, check_known
from jumpbench.files import write_atomic
from jumpbench.names import select
from jumpbench.paths import made_file
from jumpbench.tables.commands.contestants import Contestant, contestants, defined, own_target
from jumpbench.tables.commands.estimates import duration
from jumpbench.tables.commands.judgement import Judgement, table
from jumpbench.tables.commands.reproduction import make
from jumpbench.tables.commands.single import made_runs
from jumpbench.tables.language.spec import parse
from jumpbench.tables.launchers import Launcher
from jumpbench.tables.planning.hydra_overrides import parsed_override
from jumpbench.tables.planning.identity import is_anonymous
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.planning.selection import seeds as seeds_of
from jumpbench.tables.runs.store import read_metrics
from jumpbench.tables.views.console import console, print_table, words
from jumpbench.tables.views.tablefiles import TableFiles
from jumpbench.tables.views.view import View

SEEDS = 3
SCALE = "small"
LONGER = 5
"""The reference takes so many times the longest budget, unless ``reference=`` says."""


def compare(
    overrides: Sequence[str],
    budget: str,
    reference: str | None,
    seeds: str | None,
    rows: str | None,
    launcher: Launcher,
) -> bool:
    """Make and print a comparison; True if every selected cell has a number.

    Args:
        overrides: the target with its arguments, and where runs are made.
        budget: seconds of every sampler; of several, separated by commas, each is a column.
        reference: seconds of the reference run, for a law that cannot be enumerated.
        seeds: as of a table; three by default.
        rows: names or patterns of samplers.

    Raises:
        UserError: no target, or one that cannot be evaluated; no sampler is left.
    """
    here = tuple(override for override in overrides if is_anonymous(override))
    typed = [override for override in overrides if override not in here]
    keys = [parsed_override("leaderboard/chains", text).key_or_group for text in typed]
    if "target" not in keys:
        raise UserError("which target? give target=mine.MyEnergy, a class in this folder")
    if other := next((k for k in keys if k.split(".")[0] != "target"), None):
        raise UserError(
            f"compare changes no sampler; leave out {other}= (target.KEY= may be given)"
        )
    budgets = seconds_of("budget", budget)
    target, out = own_target(typed), console()
    all_rows = contestants()
    chosen = [row.name for row in all_rows]
    chosen = select("sampler", rows, chosen) if rows else chosen
    good, left_out = defined(all_rows, target, typed)
    for name in filter(left_out.__contains__, chosen):
        out.print(words(out, f"left out: {name}: {left_out[name]}", "yellow"), soft_wrap=True)
    asked = [row.name for row in good if row.name in chosen]
    if not asked:
        raise UserError("none of these samplers is defined for the target")
    known, longest = _is_known(target), 0.0
    if known and reference:
        raise UserError(f"reference={reference}: this law is enumerated and needs none")
    if not known:
        [longest] = seconds_of("reference", reference or f"{LONGER * max(budgets):g}")
    cost = _cost(len(asked), len(seeds_of(seeds, SEEDS)), budgets, longest)
    out.print(words(out, cost, "dim"), soft_wrap=True)
    judgement = _exact(target) if known else _reference(typed, longest, here, launcher)
    out.print(words(out, judgement.words, "" if judgement.why else "dim"), soft_wrap=True)
    return _made(typed, good, budgets, judgement, asked, seeds, here, launcher)


def seconds_of(key: str, text: str) -> list[float]:
    """``5,20``: seconds in ascending order.

    Raises:
        UserError: anything else.
    """
    try:
        found = sorted({float(part) for part in text.strip("[]").split(",")})
    except ValueError:
        found = []
    if not found or not all(math.isfinite(s) and s > 0 for s in found):
        raise UserError(f"{key}={text[:40]}: give seconds: 60, or 5,20,80")
    if key != "budget" and len(found) > 1:
        raise UserError(f"{key}={text[:40]}: give one number of seconds")
    return found


def _cost(samplers: int, seeds: int, budgets: Sequence[float], reference: float) -> str:
    """What will be run, and for how long; ``reference``: seconds of that run, 0 if none is made."""
    counted = (
        f"{n} {word}{'s' * (n != 1)}" for n, word in ((samplers, "sampler"), (seeds, "seed"))
    )
    text = f"{' x '.join(counted)} x {'+'.join(f'{b:g}' for b in budgets)} s"
    if reference:
        text += f", and parallel tempering for at least {reference:g} s as their reference"
    total = duration(samplers * seeds * sum(budgets) + reference)
    return f"{text}: about {total}, and what trained samplers take to draw"


def _exact(target: Any) -> Judgement:
    log_z = ExactLaws(target).log_z
    return Judgement("exact", words=f"errors against the exact law, of log Z {log_z:.4f}")


def _is_known(target: Any) -> bool:
    try:
        check_known(target)
    except UserError:
        return False
    return True


def _reference(
    typed: Sequence[str], seconds: float, here: Sequence[str], launcher: Launcher
) -> Judgement:
    """The reference run, made if it is not there yet, and what it can judge."""
    judgement = Judgement("reference", seconds)
    experiment, overrides = judgement.reference()
    [run] = made_runs(experiment, [*typed, *overrides, *here], judgement.seeds, launcher)
    content = read_metrics(run.folder)
    return judgement.judged(content["metrics"] if content else None)


def _made(
    typed: Sequence[str], rows: Sequence[Contestant], budgets: Sequence[float],
    judgement: Judgement, asked: Sequence[str], seeds: str | None, here: tuple[str, ...],
    launcher: Launcher,
) -> bool:  # fmt: skip
    """Write the table, make it, print it and its sentence."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", typed[0].partition("=")[2]).strip("-")
    identity = hashlib.sha256(repr((sorted(typed), budgets)).encode()).hexdigest()[:8]
    table_id = f"compare/{name[:60]}-{identity}"
    content = table(typed, rows, budgets, judgement, len(seeds_of(seeds, SEEDS)))
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    parse(table_id, made_file(table_id), text)
    write_atomic(made_file(table_id), text)
    part = None if len(asked) == len(rows) else ",".join(asked)
    selection, out = Selection(SCALE, seeds, rows=part, overrides=here), console()

    def shown(files: TableFiles, view: View) -> None:
        print_table(view)
        for path in files.figures:
            out.print(words(out, f"picture: {path}", "dim"), soft_wrap=True)
        out.print(words(out, f"table: jumpbench status {table_id}", "dim"), soft_wrap=True)
        out.print(words(out, judgement.verdict(files.table, view.cells), "bold"), soft_wrap=True)

    return make(table_id, selection, launcher, shown=shown).is_complete() and not judgement.why
