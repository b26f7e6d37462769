"""What the records of a paper say of its printed numbers and its claims, in a few sentences."""

from collections.abc import Sequence

from jumpbench.tables.commands.recorded_views import recorded_views
from jumpbench.tables.language.spec import load
from jumpbench.tables.views.claimwords import pointing, state
from jumpbench.tables.views.view import View

_STATES = {"holds": ("holds", "hold"), "fails": ("fails", "fail"), "open": ("is open", "are open")}


def agreement(tables: Sequence[str]) -> str:
    """What the records of the tables say; printed numbers in the paper's setting alone."""
    printed: list[View] = []  # tables of the paper in its setting
    checks: list[str] = []  # states of claims of our own
    claims: list[tuple[str, str]] = []
    total = 0
    for table_id in tables:
        views = recorded_views(table_id)
        in_print = load(table_id).in_print is not None
        if in_print:
            total += 1
            printed += [v for v in views if v.scale.kind == "paper setting"][-1:]
        for claim in load(table_id).claims:
            standing = _standing(claim.id, views)
            if in_print and not claim.ours:
                claims.append(standing)
            else:
                checks.append(standing[0] or _open(claim.id, views))
    if printed:
        cells = [cell for view in printed for cell in view.cells if cell.asked and not cell.fact]
        measured = sum(cell.status == "measured" for cell in cells)
        text = (
            f"{len(printed)} of {total} tables recorded in the paper's setting, "
            f"{measured} of {len(cells)} cells"
        )
    else:
        text = f"none of {total} tables in the paper's setting so far"
    verdicts = [cell.verdict for view in printed for cell in view.cells if cell.verdict]
    words = {"match": ("agrees", "agree"), "better": ("is better", "are better"),
             "worse": ("is worse", "are worse")}  # fmt: skip
    parts = [text]
    if counts := _counted(verdicts, words):
        parts.append(f"of the printed numbers {counts}")
    if claims:
        parts.append(stand(claims))
    if counts := _counted(checks, _STATES):
        parts.append(f"of our own checks {counts}")
    return "; ".join(parts)


def _standing(claim: str, views: list[View]) -> tuple[str, str]:
    """(verdict, way) of a claim: the verdict of the largest scale that decides it, else the
    direction at the largest that has one; both empty where no record says anything."""
    states = [one for view in views for one in view.claims if one["id"] == claim]
    decided = [state(one) for one in states if one["holds"] is not None]
    ways = [one["way"] for one in states if one.get("way")]
    return (decided[-1], "") if decided else ("", ways[-1] if ways else "")


def _open(claim: str, views: list[View]) -> str:
    """``open`` for a claim that was judged in vain."""
    said = [state(one) for view in views for one in view.claims if one["id"] == claim]
    return "open" if "open" in said else ""


def stand(claims: list[tuple[str, str]]) -> str:
    """``of 39 claims 3 hold, 1 fails; undecided, 5 point the same way, 1 the other way``."""
    verdicts, ways = zip(*claims, strict=True)
    decided = _counted(list(verdicts), _STATES)
    text = f"of {len(claims)} claims {decided or 'none is decided'}"
    points = pointing(list(ways))
    return f"{text}; undecided, {points}" if points else text


def _counted(states: list[str], words: dict[str, tuple[str, str]]) -> str:
    """``2 hold, 1 fails``: how often each word was said, of those that are asked for."""
    counts = [(states.count(name), one, many) for name, (one, many) in words.items()]
    return ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in counts if n)
