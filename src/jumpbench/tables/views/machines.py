"""Where rows of one column ran on several machines: their seconds say less of each other."""

from collections import defaultdict
from collections.abc import Mapping

from jumpbench.tables.language.metric import Metric
from jumpbench.tables.views.view import View


def is_timed(metric: Metric) -> bool:
    """Whether a metric is read off a clock."""
    return bool(metric.break_even) or "second" in (metric.source or metric.name)


def mixed_machines(view: View) -> list[str]:
    """One line for all columns of a timed table that parted their rows alike between machines:
    ``beta 1, 5 s: runs of 2 machines, whose seconds differ: Gibbs on AMD EPYC, 1 threads; the other
    rows on Intel(R) Xeon(R) Processor, 1 threads``. Most rows ran on the last one.
    """
    if not any(map(is_timed, view.table.metrics.values())):
        return []
    hardware = {
        run: ", ".join(origin.get("hardware") or ())
        for origin in view.provenance.get("origins") or ()
        for run in origin.get("runs") or ()
    }
    alike: dict[tuple[tuple[str, tuple[str, ...]], ...], list[str]] = defaultdict(list)
    for column, machines in _rows_of_machines(view, hardware).items():
        if len(machines) > 1:
            most, *others = sorted(machines, key=lambda m: (-len(machines[m]), m))
            parts = ((name, tuple(machines[name])) for name in (*others, most))
            alike[tuple(parts)].append(view.column_head(column))
    return [
        f"{'; '.join(columns)}: runs of {len(parts)} machines, whose seconds differ: "
        + "; ".join(f"{', '.join(map(view.row_head, rows))} on {name}" for name, rows in parts[:-1])
        + f"; the other rows on {parts[-1][0]}"
        for parts, columns in alike.items()
    ]


def _rows_of_machines(
    view: View, hardware: Mapping[str, str]
) -> dict[str, dict[str, dict[str, None]]]:
    """Column -> machine -> its rows, in their order; a row of two machines stands at both."""
    found: dict[str, dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    for cell in view.cells:
        for run in cell.run_ids if cell.has_number else ():
            if run in hardware:
                found[cell.column][hardware[run]][cell.row] = None
    return found
