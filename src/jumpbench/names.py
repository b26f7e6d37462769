"""Names that a user types: nearest match for a wrong one, patterns for several."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from jumpbench.errors import UserError

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def no_such(kind: str, name: str, known: Iterable[str]) -> UserError:
    """One line: there is no such thing; did you mean ...; how to see what there is."""
    known = list(known)
    short = name if len(name) <= 60 else name[:57] + "..."
    line = f"no {kind} '{short.encode('unicode_escape').decode()}'"
    if near := get_close_matches(name, known, n=1, cutoff=0.5):
        line += f"; did you mean '{near[0]}'?"
    elif known:
        line += "; there are: " + ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
    return UserError(line)


def select(kind: str, wanted: str, known: Sequence[str]) -> list[str]:
    """Names chosen by a comma-separated list of names or shell patterns, in their own order.

    A name that itself contains commas or pattern characters is found as written.
    """
    if wanted in known:
        return [wanted]
    chosen: set[str] = set()
    parts = wanted.strip("[]").split(",")
    while parts:
        # Of the names that the list goes on with, the longest: it may have commas of its own.
        sizes = [n for n in range(len(parts), 0, -1) if ",".join(parts[:n]).strip() in known]
        size = sizes[0] if sizes else 1
        name, parts = ",".join(parts[:size]).strip(), parts[size:]
        if not name:
            continue
        hits = {name} if sizes else {n for n in known if fnmatchcase(n.lower(), name.lower())}
        if not hits:
            raise no_such(kind, name, known)
        chosen |= hits
    if not chosen:
        raise UserError(f"no {kind} given; there are: {', '.join(known)}")
    return [n for n in known if n in chosen]


def one_line(text: str) -> str:
    """Text in which no line ends and no control character is obeyed."""
    return visible(" ".join(text.split()))


def visible(text: str) -> str:
    """Text on one line in which control characters are spelled instead of obeyed."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
