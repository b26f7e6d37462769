"""Below the published settings, a claim compares trainings of equal steps and batches."""

import inspect
import itertools

import pytest

from jumpbench.methods.dasbs.matcher import Matcher
from jumpbench.paths import suite_root
from jumpbench.tables.judging.comparisons import Estimate
from jumpbench.tables.judging.contrasts import contrasts
from jumpbench.tables.language.scale import Heads
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.selection import Selection

IDS = [i for i in available() if (suite_root() / "reproduce" / f"{i}.yaml").is_file()]
BOARDS = "leaderboard/"
"""Its rows have equal seconds."""


def budget(config):
    """(steps, batch) of a training, None where nothing is trained.

    DASBS trains controller and corrector in turn, without memory the controller alone: there the
    controller's steps count. Of the GFlowNet each step counts twice, as log Z has an optimiser.
    """
    if "fit" not in (config.get("stages") or ()):
        return None
    steps, method = config["trainer"]["max_steps"], config["method"]
    if method.get("corrector"):
        usual = inspect.signature(Matcher).parameters["steps"].default
        controller, corrector = (method[k].get("steps", usual) for k in ("controller", "corrector"))
        steps = steps * controller // (controller + corrector)
    if method["_target_"].endswith("gflownet.TrajectoryBalance"):
        steps //= 2
    return steps, config["data"].get("train_batch_size")


def compared(table, claim):
    """The pairs of places of each comparison."""
    places = []

    def source(row, column, metric):
        places.append((row, column))
        return Estimate(None)

    leaves = list(contrasts(table, claim, source, Heads()).leaves())
    at = iter(places)
    for leaf in leaves:
        yield tuple(itertools.islice(at, sum(e.error is None for _, e in leaf.terms)))


@pytest.mark.slow
@pytest.mark.parametrize("table_id", [i for i in IDS if not i.startswith(BOARDS)])
def test_a_claim_compares_equal_trainings(table_id):
    table = load(table_id)
    for scale in ("small", "medium"):
        claims = [c for c in table.claims if c.check is not None and scale in table.deciding(c)]
        grid = build(table, Selection(scale)) if claims else ()
        runs = {(e.row.name, e.column.name): e.runs[0].config for e in grid if e.runs}
        for claim in claims:
            for places in compared(table, claim):
                budgets = {budget(runs[place]) for place in places if place in runs} - {None}
                assert len(budgets) <= 1, (scale, claim.id, places, budgets)
