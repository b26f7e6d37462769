"""``extends: SLUG/TABLE``: a table file that adds to another one and changes nothing of it.

Rows, columns, claims, figures and readings come behind those of the other file; metrics, scales,
published numbers of what is new, and what scales say about it, are added by name. Added rows are
not the paper's (``ours``), and a claim of the other file speaks of its own columns and metrics.
``title``, ``about``, ``cost`` and ``data`` may be said anew. So what the other file measures is the
same runs here, judged as there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Path_ = tuple[str | int, ...]
"""Keys and list positions that lead to a place in a file."""
Lines = dict[Path_, int]
"""The line of every key and item of a file."""

_LISTS = ("rows", "columns", "claims", "figures", "reading")
_ANEW = ("title", "about", "cost", "data", "extends")


def extended(
    base: Mapping[str, Any], own: Mapping[str, Any], lines: Lines,
    wrong: Callable[[Path_, str], Exception],
) -> tuple[dict[str, Any], Lines]:  # fmt: skip
    """Plain values of both files as one, and the lines of ``own`` at their new places.

    Raises:
        ``wrong(place, what)``: ``own`` would change something of ``base``.
    """
    return _Extension(base, own, wrong).values(), {
        _behind(place, base): line for place, line in lines.items()
    }


def _behind(place: Path_, base: Mapping[str, Any]) -> Path_:
    if len(place) < 2 or place[0] not in _LISTS or not isinstance(place[1], int):
        return place
    return (place[0], place[1] + len(base.get(str(place[0])) or ()), *place[2:])


class _Extension:
    def __init__(
        self, base: Mapping[str, Any], own: Mapping[str, Any],
        wrong: Callable[[Path_, str], Exception],
    ) -> None:  # fmt: skip
        self.base, self.own, self.wrong = base, own, wrong
        self.rows, self.columns = _names(base, "rows"), _names(base, "columns")

    def values(self) -> dict[str, Any]:
        self._only_adds()
        merged = {**self.base, **{key: self.own[key] for key in _ANEW if key in self.own}}
        for key in _LISTS:
            if key == "figures" and key not in self.base and key not in self.own:
                continue  # bars, as without the extension
            merged[key] = (*(self.base.get(key) or ()), *self._added(key))
        merged["claims"] = (*map(self._as_meant, self.base.get("claims") or ()),
                            *self._added("claims"))  # fmt: skip
        for key in ("metrics", "published", "scales"):
            merged[key] = _joined(self.base.get(key) or {}, self.own.get(key) or {})
        added = {"rows": _names(self.own, "rows"), "columns": _names(self.own, "columns"),
                 "metrics": self.own.get("metrics") or {}}  # fmt: skip
        for scale in merged["scales"].values():
            for kind, names in added.items():
                if isinstance(scale, dict) and scale.get(f"only_{kind}"):
                    scale[f"only_{kind}"] += tuple(names)
        return merged

    def _added(self, key: str) -> Sequence[Any]:
        added = () if self.own.get(key) is None else self.own[key]
        if not isinstance(added, tuple):
            raise self.wrong((key,), f"'{key}' must be a list: what is added to {self._id}")
        if key == "rows":
            return [{**row, "ours": True} if isinstance(row, dict) else row for row in added]
        return added

    @property
    def _id(self) -> str:
        return str(self.own["extends"])

    def _only_adds(self) -> None:
        """Raises ``wrong(place, what)`` for the first value that the other file has otherwise."""
        for key, value in self.own.items():
            if key not in (*_LISTS, *_ANEW, "metrics", "published", "scales"):
                raise self._change((key,))
            if key in ("metrics", "published", "scales") and not isinstance(value, dict):
                raise self.wrong((key,), f"{key} must be a mapping: what is added to {self._id}")
        for name in self.own.get("metrics", {}):
            if name in (self.base.get("metrics") or {}):
                raise self._change(("metrics", name))
        for metric, rows in self.own.get("published", {}).items():
            for row, columns in _items(rows):
                for column, _ in _items(columns):
                    if row in self.rows and column in self.columns:
                        raise self._change(("published", metric, row, column))
        for name, scale in self.own.get("scales", {}).items():
            if name in (self.base.get("scales") or {}):
                self._only_adds_to_scale(name, scale)

    def _only_adds_to_scale(self, name: str, scale: Any) -> None:
        """The same for a scale that the other file has: new rows and columns alone."""
        for key, entries in _items(scale):
            there = {"rows": self.rows, "columns": self.columns}.get(key)
            if there is None:
                raise self._change(("scales", name, key))
            for entry, _ in _items(entries):
                if entry in there:
                    raise self._change(("scales", name, key, entry))

    def _change(self, place: Path_) -> Exception:
        what = f"{'.'.join(map(str, place))} would change what {self._id} says; a table that "
        return self.wrong(place, what + "extends another adds to it (copy the file to change it)")

    def _as_meant(self, claim: Any) -> Any:
        """A claim of the other file, with the columns and metrics that it left unsaid."""
        if not isinstance(claim, dict) or not isinstance(claim.get("check"), dict):
            return claim
        return {**claim, "check": self._said(claim["check"])}

    def _said(self, check: dict[str, Any]) -> dict[str, Any]:
        metrics = self.base.get("metrics") or {}
        directed = tuple(
            name for name, metric in metrics.items()
            if isinstance(metric, dict) and metric.get("better", "none") != "none"
        )  # fmt: skip
        said: dict[str, Any] = {}
        for kind, at in check.items():
            if kind in ("all", "any"):
                said[kind] = tuple(map(self._said, at))
            elif kind in ("best", "order", "trend", "u_shaped", "same_best", "falls_behind"):
                said[kind] = dict(at)
                if not {"metric", "metrics"} & set(at):
                    said[kind]["metrics"] = directed
                if not {"column", "columns"} & set(at):
                    said[kind]["columns"] = tuple(self.columns)
            else:
                said[kind] = at
        return said


def _items(value: Any) -> Iterable[tuple[Any, Any]]:
    """Of a mapping; what is none has a message of its own where tables are read."""
    return value.items() if isinstance(value, dict) else ()


def _names(table: Mapping[str, Any], key: str) -> list[str]:
    entries = table.get(key) or ()
    return [str(entry.get("name")) for entry in entries if isinstance(entry, dict)]


def _joined(base: Any, own: Any) -> Any:
    """Two mappings as one, however deep; both are left as they are."""
    if not (isinstance(base, dict) and isinstance(own, dict)):
        return own
    return {**{k: dict(v) if isinstance(v, dict) else v for k, v in base.items()},
            **{k: _joined(base[k], v) if k in base else v for k, v in own.items()}}  # fmt: skip
