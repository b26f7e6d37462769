"""``jumpbench sweep``: runs of an experiment at several values, as a table made on the spot.

The table is a file like any other (``outputs/tables/sweep/NAME/sweep.yaml``), so that it resumes,
renders, is loaded and shown as any other, and can be copied and extended.
"""

import hashlib
import itertools
import re
import sys
from collections.abc import Sequence
from typing import Any

import yaml
from hydra.core.override_parser.types import ValueType

from jumpbench.errors import UserError
from jumpbench.files import write_atomic
from jumpbench.names import no_such
from jumpbench.paths import made_file, sweep_of_wandb
from jumpbench.tables.commands.reproduction import reproduce
from jumpbench.tables.language.seeds import sets_seed
from jumpbench.tables.language.spec import available, load, parse
from jumpbench.tables.launchers import Launcher
from jumpbench.tables.planning.hydra_overrides import parsed_override
from jumpbench.tables.planning.identity import is_anonymous
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.scalefiles import expanded
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.planning.unread import refuse_unread
from jumpbench.tables.runs.store import write_json

SCALE = "small"


def sweep(
    experiment: str,
    overrides: Sequence[str],
    metric: str | None,
    seeds: str | None,
    launcher: Launcher,
    fresh: bool = False,
) -> bool:
    """Make and print the table of a sweep; True if every cell has a number.

    Args:
        overrides: of every run; those with several values are swept. The values of the last one
            are the columns, the combinations of all others the rows.
        metric: what is shown, names separated by commas.

    Raises:
        UserError: nothing is swept, no metric is named, an override of the seed, or one that fits
            no run.
    """
    if any(map(sets_seed, overrides)):
        raise UserError("a sweep takes seeds=3 or seeds=[0,2], not seed=")
    here = tuple(override for override in overrides if is_anonymous(override))  # device, loggers
    swept, fixed = split(experiment, [text for text in overrides if text not in here])
    if not swept:
        raise UserError("nothing is swept; give several values of a key: key=a,b,c")
    names = [name.strip() for name in (metric or "").split(",") if name.strip()]
    if not names:
        known = ", ".join(_known_metrics(experiment)) or "the names that jumpbench run prints"
        raise UserError(f"which metric? give metric=NAME,NAME; known: {known}")
    _tell_unknown(experiment, names)
    content = table(experiment, swept, fixed, names)
    for row in content["rows"]:  # what fits no run is told before a file is written
        for column in content["columns"]:
            typed = [*fixed, *row["overrides"], *column["overrides"], *here]
            plan_run(experiment, expanded(typed))
            refuse_unread(typed, [lambda typed: (experiment, expanded(typed))])
    identity = hashlib.sha256(repr((experiment, swept, fixed, names)).encode()).hexdigest()[:8]
    table_id = f"sweep/{re.sub(r'[^A-Za-z0-9]+', '-', experiment)}-{identity}"
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    parse(table_id, made_file(table_id), text)  # nor one that could not be read again
    write_atomic(made_file(table_id), text)
    _register(table_id, plan_run(experiment, [*fixed, *here]).config, swept)
    return reproduce(table_id, Selection(SCALE, seeds, overrides=here), launcher, fresh)


def split(experiment: str, overrides: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """({key: its overrides, one for each value}, the others)."""
    swept: dict[str, list[str]] = {}
    fixed: list[str] = []
    for text in overrides:
        override = parsed_override(experiment, text)
        if not override.is_sweep_override():
            fixed.append(text)
            continue
        pattern = override.value_type is ValueType.GLOB_CHOICE_SWEEP
        if not override.is_discrete_sweep() or pattern or override.is_delete():
            raise UserError(f"{text[:60]}: give the values, separated by commas")
        key, values = override.get_key_element(), list(override.sweep_string_iterator())
        if key in swept:
            raise UserError(f"{key} is swept twice; give all its values at once")
        if twice := next((value for value in values if values.count(value) > 1), None):
            raise UserError(f"{text[:60]}: {twice[:40]} stands twice")
        swept[key] = [f"{key}={value}" for value in values]
    return swept, fixed


def table(
    experiment: str, swept: dict[str, list[str]], fixed: Sequence[str], metrics: Sequence[str]
) -> dict[str, Any]:
    """The content of the table's file."""
    *rows, columns = swept.values() if len(swept) > 1 else (*swept.values(), [""])
    keys = " and ".join(swept)
    about = f"{experiment}" + (f" with {', '.join(fixed)}" if fixed else "")
    title = f"Sweep of {keys}"
    return {
        "title": title,
        "about": about,
        "experiment": experiment,
        "overrides": list(fixed),
        "metrics": {name: {"label": name, "digits": 4} for name in metrics},
        "rows": [
            {"name": ", ".join(_short(one) for one in chosen), "overrides": list(chosen)}
            for chosen in itertools.product(*rows)
        ],
        "columns": [
            {"name": _short(one) or "value", "overrides": [one] if one else []} for one in columns
        ],
        "scales": {SCALE: {"title": title, "decides": True}},
    }


def _register(table_id: str, config: dict[str, Any], swept: dict[str, list[str]]) -> None:
    """With ``logger=wandb`` and a key: make the sweep on the server that the runs will belong to.

    A run is made here, by the launcher, and by no agent. Without a server the runs have their group
    in common, as those of any table.
    """
    from jumpbench.tables.runs import loggers

    wanted = next(filter(loggers.is_wandb, loggers.wanted_loggers(config)), None)
    place = sweep_of_wandb(table_id)
    if wanted is None or place.is_file() or not loggers.wandb_key() or wanted.get("offline"):
        return
    import wandb

    try:
        asked = {"name": table_id, "method": "grid", "parameters": parameters(swept)}
        made = wandb.sweep(asked, entity=wanted.get("entity"), project=wanted.get("project"))
        write_json(place, {"sweep": made})
    except (wandb.errors.Error, OSError, ValueError) as error:
        print(f"W&B: no sweep: {' '.join(str(error).split())[:200]}", file=sys.stderr)


def parameters(swept: dict[str, list[str]]) -> dict[str, Any]:
    """The parameters of W&B's sweep: nested, as the configuration of a run is."""
    content: dict[str, Any] = {}
    for key, overrides in swept.items():
        *above, last = key.split(".")
        node = content
        for name in above:
            node = node.setdefault(name, {"parameters": {}})["parameters"]
        node[last] = {"values": [yaml.safe_load(one.partition("=")[2]) for one in overrides]}
    return content


def _short(override: str) -> str:
    """``n_steps=10`` for ``method.n_steps=10``."""
    key, _, value = override.partition("=")
    return f"{key.split('.')[-1]}={value}" if key else ""


def _tell_unknown(experiment: str, names: Sequence[str]) -> None:
    """A note for metrics that no table shows: a run may measure more, or a name is misspelt."""
    known = _known_metrics(experiment)
    for name in names if known else ():
        if name not in known:
            told = f"{no_such('metric', name, known)} (a run may measure more than tables show)"
            print(f"note: {told}", file=sys.stderr)


def _known_metrics(experiment: str) -> list[str]:
    """What tables show of this experiment."""
    names: dict[str, None] = {}
    for name in available():
        try:
            listed = load(name)
        except UserError:
            continue
        if experiment in (listed.experiment, *(row.experiment for row in listed.rows)):
            sources = (metric.source or metric.name for metric in listed.metrics.values())
            names |= dict.fromkeys(s for s in sources if "{" not in s)
    return list(names)
