"""Shorthand of a table file, written out: columns that are crossed, and names with a ``*``.

``{cross: [[COLUMN, ...], [COLUMN, ...]]}`` among the columns stands for every choice of one column
from each list. Its name joins theirs with commas, its overrides follow one another, its ``vars``
are those of all, its ``metrics`` those of the last that says some. A name with a ``*`` stands for
every row or column that it fits, wherever several may be named: in lists, and as a key of
overrides, where a name gets those of all keys that fit it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from jumpbench.tables.language.extension import Lines, Path_

Wrong = Callable[[Path_, str], Exception]
_PARTS = {"name": str, "overrides": tuple, "vars": dict, "metrics": tuple}
_PATTERNS = {"rows": "row", "among": "row", "columns": "column"}


def crossed(raw: dict[str, Any], lines: Lines, wrong: Wrong) -> dict[str, Any]:
    """Plain values of a file with its crossed columns in full; ``lines`` follow them.

    Raises:
        ``wrong(place, what)``: what is crossed is no list of lists of columns.
    """
    columns = raw.get("columns")
    if not isinstance(columns, tuple) or not any(map(_is_cross, columns)):
        return raw
    before = {place: lines.pop(place) for place in [p for p in lines if p[:1] == ("columns",)]}
    lines.update({place: line for place, line in before.items() if place == ("columns",)})
    full: list[Any] = []
    for i, column in enumerate(columns):
        at = ("columns", i)
        if not _is_cross(column):
            _follow(before, at, lines, ("columns", len(full)))
            full.append(column)
            continue
        lists = _lists(column, at, wrong)
        for choice in product(*(enumerate(one) for one in lists)):
            here = ("columns", len(full))
            overrides = 0
            for j, (k, part) in enumerate(choice):
                source = (*at, "cross", j, k)
                lines[here] = before[source]
                for n in range(len(part.get("overrides", ()))):
                    lines[(*here, "overrides", overrides)] = before[(*source, "overrides", n)]
                    overrides += 1
            full.append(_joined([part for _, part in choice]))
    return {**raw, "columns": tuple(full)}


def _is_cross(column: Any) -> bool:
    return isinstance(column, dict) and "cross" in column


def _follow(before: Lines, old: Path_, lines: Lines, new: Path_) -> None:
    for place, line in before.items():
        if place[: len(old)] == old:
            lines[(*new, *place[len(old) :])] = line


def _lists(column: dict[str, Any], at: Path_, wrong: Wrong) -> Sequence[Sequence[dict[str, Any]]]:
    if len(column) > 1:
        raise wrong(at, "'cross' stands alone: what it crosses has names, overrides and vars")
    lists = column["cross"]
    if not isinstance(lists, tuple) or not all(isinstance(one, tuple) and one for one in lists):
        raise wrong((*at, "cross"), "'cross' must be a list of lists of columns")
    for j, one in enumerate(lists):
        for k, part in enumerate(one):
            place = (*at, "cross", j, k)
            if not isinstance(part, dict) or "name" not in part:
                raise wrong(place, "a column to be crossed needs a 'name'")
            for key, value in part.items():
                if key not in _PARTS:
                    what = f"unknown key '{key}' in a column to be crossed"
                    raise wrong((*place, key), f"{what}; known: {', '.join(_PARTS)}")
                if not isinstance(value, _PARTS[key]):
                    kind = {str: "text", tuple: "a list", dict: "a mapping"}[_PARTS[key]]
                    raise wrong((*place, key), f"'{key}' of a column to be crossed must be {kind}")
    return lists


def _joined(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    parts = list(parts)
    said = [part["metrics"] for part in parts if "metrics" in part]
    return {
        **({"metrics": said[-1]} if said else {}),
        "name": ", ".join(part["name"] for part in parts),
        "overrides": tuple(text for part in parts for text in part.get("overrides", ())),
        "vars": {key: value for part in parts for key, value in part.get("vars", {}).items()},
    }


def named(
    raw: dict[str, Any], lines: Lines, wrong: Wrong, base: Mapping[str, Any]
) -> dict[str, Any]:
    """Plain values of a file with names in place of patterns; ``base``: the file it extends.

    Raises:
        ``wrong(place, what)``: a pattern that fits nothing.
    """
    return _Patterns(raw, lines, wrong, base).values()


class _Patterns:
    def __init__(
        self, raw: dict[str, Any], lines: Lines, wrong: Wrong, base: Mapping[str, Any]
    ) -> None:
        self.raw, self.lines, self.wrong = raw, lines, wrong
        self.known = {
            kind: [*_names(base.get(f"{kind}s")), *_names(raw.get(f"{kind}s"))]
            for kind in ("row", "column")
        }

    def values(self) -> dict[str, Any]:
        new = dict(self.raw)
        for key, change in (("rows", self._row), ("claims", self._claim)):
            if isinstance(entries := new.get(key), tuple):
                new[key] = tuple(change(e, (key, i)) if isinstance(e, dict) else e
                                 for i, e in enumerate(entries))  # fmt: skip
        if isinstance(scales := new.get("scales"), dict):
            new["scales"] = {
                name: self._scale(e, ("scales", name)) if isinstance(e, dict) else e
                for name, e in scales.items()
            }
        return new

    def _row(self, row: dict[str, Any], place: Path_) -> dict[str, Any]:
        return self._changed(row, place, lists={"only": "column"}, keys={"columns": "column"})

    def _scale(self, scale: dict[str, Any], place: Path_) -> dict[str, Any]:
        lists = {"only_rows": "row", "only_columns": "column"}
        return self._changed(scale, place, lists, keys={"rows": "row", "columns": "column"})

    def _claim(self, claim: dict[str, Any], place: Path_) -> dict[str, Any]:
        if not isinstance(check := claim.get("check"), dict):
            return claim
        return {**claim, "check": self._check(check, (*place, "check"))}

    def _check(self, check: dict[str, Any], place: Path_) -> dict[str, Any]:
        new = dict(check)
        for kind, at in check.items():
            if kind in ("all", "any") and isinstance(at, tuple):
                new[kind] = tuple(self._check(c, (*place, kind, i)) if isinstance(c, dict) else c
                                  for i, c in enumerate(at))  # fmt: skip
            elif isinstance(at, dict):
                new[kind] = self._changed(at, (*place, kind), lists=_PATTERNS, keys={})
        return new

    def _changed(
        self, entry: dict[str, Any], place: Path_, lists: Mapping[str, str], keys: Mapping[str, str]
    ) -> dict[str, Any]:
        new = dict(entry)
        for key, kind in lists.items():
            if isinstance(names := new.get(key), tuple):
                fitting: list[Any] = []
                for i, name in enumerate(names):
                    written = self._fitting(kind, name, (*place, key, i))
                    fitting += [n for n in written if n is name or n not in fitting]
                new[key] = tuple(fitting)
        for key, kind in keys.items():
            if isinstance(overrides := new.get(key), dict):
                new[key] = self._by_name(kind, overrides, (*place, key))
        return new

    def _by_name(self, kind: str, overrides: dict[str, Any], place: Path_) -> dict[str, Any]:
        new: dict[str, Any] = {}
        source = {p: line for p, line in self.lines.items() if p[: len(place)] == place}
        for key, texts in overrides.items():
            for name in self._fitting(kind, key, (*place, key)):
                before = new.get(name)
                if before is None or not (isinstance(before, tuple) and isinstance(texts, tuple)):
                    new[name], before = texts, ()
                else:
                    new[name] = before + texts
                self.lines[(*place, name)] = source[(*place, key)]
                for i in range(len(texts) if isinstance(texts, tuple) else 0):
                    self.lines[(*place, name, len(before) + i)] = source[(*place, key, i)]
        return new

    def _fitting(self, kind: str, name: Any, place: Path_) -> Sequence[Any]:
        known = self.known[kind]
        if not isinstance(name, str) or "*" not in name or name in known:
            return (name,)
        pattern = re.compile(".*".join(map(re.escape, name.split("*"))), re.DOTALL)
        found = [one for one in known if pattern.fullmatch(one)]
        if not found:
            raise self.wrong(place, f"no {kind} fits '{name}'")
        return found


def _names(entries: Any) -> list[str]:
    if not isinstance(entries, tuple):
        return []
    return [e["name"] for e in entries if isinstance(e, dict) and isinstance(e.get("name"), str)]
