"""What is said of a claim, the same words in the terminal, Markdown and HTML."""

from collections.abc import Mapping, Sequence
from typing import Any

from jumpbench.names import visible
from jumpbench.tables.judging.direction import MIXED, OTHER, SAME, WORDS
from jumpbench.tables.language.types import OWN, PAPERS
from jumpbench.tables.views.view import View


def claim_counts(view: View) -> str:
    """``claims: 1 holds, 2 fail, 5 not judged``; empty if there are none."""
    states = [state(claim) for claim in view.claims]
    plural = {"holds": "hold", "fails": "fail"}
    counted = [
        f"{n} {name if n == 1 else plural.get(name, name)}"
        for name in ("holds", "fails", "open", "not judged")
        if (n := states.count(name))
    ]
    return f"claims: {', '.join(counted)}" if counted else ""


def state(claim: Mapping[str, Any]) -> str:
    """``holds``, ``fails``, ``open``, or ``not judged`` where its scale cannot decide it."""
    if claim["holds"] is None:
        return "open" if claim.get("because") else "not judged"
    return "holds" if claim["holds"] else "fails"


def claim_head(claim: Mapping[str, Any]) -> str:
    """Its state, or where it points if it is not judged."""
    how = state(claim)
    return WORDS[claim["way"]] if how == "not judged" and claim.get("way") else how


def claim_words(claim: Mapping[str, Any]) -> str:
    """The detail of a claim, where it points, why it is judged here, and whether it holds in the
    paper's numbers."""
    because = claim.get("because")
    judged = f"judged here: {visible(because)}" if because and because not in (PAPERS, OWN) else ""
    parts = [visible(claim["detail"])]
    if way := claim.get("way"):
        compared = visible(claim["direction"])
        if because:
            parts.append(f"{WORDS[way]} ({compared})")
        else:  # its head says where it points
            parts.insert(0, compared)
    return "; ".join(part for part in (*parts, judged, claim_in_print(claim)) if part)


def claim_in_print(claim: Mapping[str, Any]) -> str:
    """Whether a claim holds in the paper's numbers; empty where the paper prints none for it."""
    said = claim.get("in_print") or "not printed"
    return "" if said == "not printed" else f"in print: {said}"


_SHORT = {SAME: "the same way", OTHER: "the other way", MIXED: "both ways"}


def pointing(ways: Sequence[str]) -> str:
    """``3 point the same way, 1 both ways``: where undecided claims point; empty if nowhere."""
    counted = [(ways.count(way), words) for way, words in _SHORT.items() if way in ways]
    parts = [f"{n} {words}" for n, words in counted]
    if parts:
        n, words = counted[0]
        parts[0] = f"{n} {'points' if n == 1 else 'point'} {words}"
    return ", ".join(parts)
