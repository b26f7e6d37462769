"""Names that a user types: nearest match for a wrong one, patterns for several."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from jumpbench.errors import UserError

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


ALIKE = 0.65
"""How like a name must be to what is typed to be offered (1: equal)."""
WHOLE_LIST, FIRST_NAMES = 20, 12
"""As many names are all listed; of more, the first."""


def no_such(kind: str, name: str, known: Iterable[str], patterns: bool = False) -> UserError:
    """One line: there is no such thing; did you mean ...; or what there is.

    Where names have folders (``sgdd/table2``), one that is typed without its folder, or the folder
    alone, is found first. ``patterns``: a pattern may stand in the name's place.
    """
    known = list(known)
    short = name if len(name) <= 60 else name[:57] + "..."
    line = f"no {kind} '{short.encode('unicode_escape').decode()}'"
    folder = name.rstrip("/")
    inside = [each for each in known if each.startswith(f"{folder}/")] if folder else []
    if meant := _of_other_folders(name, known):
        quoted = [f"'{each}'" for each in meant]
        line += f"; did you mean {_first(quoted)}?"
    elif inside and patterns:
        line += f"; '{folder}/*' is all {kind}s of {folder}"
    elif inside:
        line += f"; there are: {_first(inside)}"
    elif near := _nearest(name, known):
        line += f"; did you mean '{near}'?"
    elif known:
        line += f"; there are: {_first(known)}"
    return UserError(line)


def _of_other_folders(name: str, known: Sequence[str]) -> list[str]:
    """Names whose last part is that of ``name``; of one with a folder only if there is no other."""
    *folder, last = name.split("/")
    meant = [each for each in known if "/" in each and last and each.split("/")[-1] == last]
    return [] if folder and len(meant) > 1 else meant


def _nearest(name: str, known: Sequence[str]) -> str | None:
    """The most alike name; one that is typed without a folder may be that of a folder or in it."""
    parts = {each.split("/")[-1]: each for each in reversed(known)} | {each: each for each in known}
    near = get_close_matches(name, parts if "/" not in name else known, n=1, cutoff=ALIKE)
    return parts[near[0]] if near else None


def _first(names: Sequence[str]) -> str:
    few = len(names) <= WHOLE_LIST
    return ", ".join(names if few else [*names[:FIRST_NAMES], "..."])


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
            raise no_such(kind, name, known, patterns=True)
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
