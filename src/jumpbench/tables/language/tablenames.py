"""Names inside a table file that refer to each other must exist."""

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from string import Formatter

from jumpbench.data.catalog import datasets
from jumpbench.names import no_such
from jumpbench.tables.language.claimnames import CheckNames
from jumpbench.tables.language.metric import BreakEven
from jumpbench.tables.language.seeds import check_seeds
from jumpbench.tables.language.types import Claim, Table

Wrong = Callable[[tuple, str], Exception]
FIGURE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")


def check_names(table: Table, wrong: Wrong) -> None:
    """Raises ``wrong(place, what)`` for the first name that does not exist."""
    _Names(table, wrong).check()


class _Names:
    def __init__(self, table: Table, wrong: Wrong) -> None:
        self.table, self.wrong = table, wrong
        self.known = {
            "row": [row.name for row in table.rows],
            "column": [column.name for column in table.columns],
            "metric": list(table.metrics),
            "problem": [str(c.vars["problem"]) for c in table.columns if "problem" in c.vars],
        }

    def refer(self, kind: str, names: Iterable[str] | None, place: tuple) -> None:
        for name in names or ():
            if name not in self.known[kind]:
                near = get_close_matches(name, self.known[kind], n=1)
                hint = f"; did you mean '{near[0]}'?" if near else ""
                where = place if not place or place[-1] != name else place[:-1]
                raise self.wrong((*where, name), f"unknown {kind} '{name}'{hint}")

    def check(self) -> None:
        for kind in ("row", "column"):
            names = self.known[kind]
            for i, name in enumerate(names):
                if name in names[:i]:
                    raise self.wrong((f"{kind}s", i), f"{kind} '{name}' is defined twice")
        self._rows()
        check_seeds(self.table, self.wrong)
        self._data()
        self._sources()
        for name, metric in self.table.metrics.items():
            if metric.break_even:
                self._break_even(name, metric.break_even)
        self._scales()
        for i, column in enumerate(self.table.columns):
            self.refer("metric", column.metrics, ("columns", i, "metrics"))
        self._published()
        self._figures()
        self._claims()

    def _data(self) -> None:
        known = datasets()
        for i, name in enumerate(self.table.data):
            if name not in known:
                raise self.wrong(("data", i), str(no_such("dataset", name, known)))

    def _sources(self) -> None:
        """What stands in braces is a name of each row and column that has the metric."""
        for row, column, metric in self.table.cells():
            if row.cited:
                continue
            known = {"row", "column", *row.vars, *column.vars}
            for key in ("source", "perfect", "sample_std", "error", "by_sample"):
                text, place = getattr(metric, key) or "", ("metrics", metric.name, key)
                try:
                    names = {name for _, name, _, _ in Formatter().parse(text) if name is not None}
                except ValueError as error:
                    raise self.wrong(place, f"{text[:80]!r}: {error}") from None
                for name in sorted(names - known):
                    what = f"row '{row.name}' and column '{column.name}' have no '{name}' in vars"
                    raise self.wrong(place, f"{text[:80]!r}: {what}")

    def _figures(self) -> None:
        for i, figure in enumerate(self.table.figures or ()):
            name = figure.get("name", "figure")
            if not isinstance(name, str) or not FIGURE_NAME.fullmatch(name):
                what = (
                    f"figure name {name!r}: at most 100 letters, digits and ._+-, it names a file"
                )
                raise self.wrong(("figures", i, "name"), what)
            if not isinstance(figure.get("_target_"), str):
                what = f"figure '{name}' names no function: give _target_"
                raise self.wrong(("figures", i), what)
            if not isinstance(figure.get("caption", ""), str):
                what = f"the caption of figure '{name}' is no text"
                raise self.wrong(("figures", i, "caption"), what)

    def _claims(self) -> None:
        ids = [claim.id for claim in self.table.claims]
        for i, claim in enumerate(self.table.claims):
            if claim.id in ids[:i]:
                raise self.wrong(("claims", i, "id"), f"claim '{claim.id}' is defined twice")
            if claim.check is None and not claim.reason:
                what = f"claim '{claim.id}' needs a check, or the reason why there is none"
                raise self.wrong(("claims", i), what)
            self._where(claim, ("claims", i))
            if claim.check is not None:
                said = functools.partial(self._in_claim, claim.id, ("claims", i))
                names = CheckNames(self.table, self.known, said)
                for kind, arguments in claim.check.parts():
                    names.check(kind, arguments)

    def _in_claim(self, claim: str, place: tuple, what: str) -> Exception:
        return self.wrong(place, f"claim '{claim}': {what}")

    def _where(self, claim: Claim, place: tuple) -> None:
        """Some scale can decide it, and those that it names exist and decide claims."""
        if claim.check is not None and not self.table.deciding(claim):
            what = (
                f"claim '{claim.id}': no scale can decide it; give one of them decides: true or "
                "compare: true, or the claim scales: {SCALE: why it can be decided there}"
            )
            raise self.wrong(place, what)
        for name in claim.scales:
            scale = self.table.scales.get(name)
            if scale is None or not scale.judged:
                why = "it has no such scale" if scale is None else "that scale decides no claim"
                raise self.wrong((*place, "scales", name), f"claim '{claim.id}': {name}: {why}")

    def _break_even(self, name: str, of: BreakEven) -> None:
        where = ("metrics", name, "break_even")
        self.refer("metric", of.names, where)
        stated = of.spreads if isinstance(of.spreads, Mapping) else {"": of.spreads}
        for problem, spreads in stated.items():
            if spreads is not None and len(spreads) != len(of.errors):
                what = f"{len(spreads)} spreads of {len(of.errors)} errors; give one of each"
                raise self.wrong((*where, "spreads", problem), what)
        if isinstance(of.spreads, Mapping):
            self.refer("problem", of.spreads, (*where, "spreads"))
            for column in self.table.columns:
                at, judged = str(column.vars.get("problem")), column.metrics or (name,)
                if name in judged and at not in of.spreads:
                    raise self.wrong((*where, "spreads"), f"spreads lacks the problem '{at}'")

    def _rows(self) -> None:
        for i, row in enumerate(self.table.rows):
            self.refer("column", row.columns, ("rows", i, "columns"))
            self.refer("column", row.only, ("rows", i, "only"))
            self.refer("metric", row.metrics, ("rows", i, "metrics"))
            self.refer("row", [row.printed_as] if row.printed_as else (), ("rows", i, "printed_as"))
            if not row.cited and not (row.experiment or self.table.experiment):
                raise self.wrong(("rows", i), f"row '{row.name}' has no experiment")

    def _scales(self) -> None:
        for name, scale in self.table.scales.items():
            place = ("scales", name)
            self.refer("row", scale.rows, (*place, "rows"))
            self.refer("column", scale.columns, (*place, "columns"))
            self.refer("row", scale.only_rows, (*place, "only_rows"))
            self.refer("column", scale.only_columns, (*place, "only_columns"))
            self.refer("metric", scale.only_metrics, (*place, "only_metrics"))
            self.refer("row", scale.heads.rows, (*place, "heads", "rows"))
            self.refer("column", scale.heads.columns, (*place, "heads", "columns"))

    def _published(self) -> None:
        self.refer("metric", self.table.published, ("published",))
        for metric, by_row in self.table.published.items():
            self.refer("row", by_row, ("published", metric))
            for row, by_column in by_row.items():
                self.refer("column", by_column, ("published", metric, row))
