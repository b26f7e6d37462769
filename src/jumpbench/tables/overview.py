"""``jumpbench list``, ``status``, ``run`` and ``data``: what there is, what is done, one run."""

from collections.abc import Sequence

from rich.table import Table as RichTable
from rich.text import Text

from jumpbench.errors import DataMissing, UserError
from jumpbench.paths import reproduce_dir
from jumpbench.tables.console import Terminal, console
from jumpbench.tables.grid import Selection, build, unique_runs
from jumpbench.tables.launchers import launcher as make_launcher
from jumpbench.tables.layout import number
from jumpbench.tables.names import no_such
from jumpbench.tables.plan import Run, plan_run
from jumpbench.tables.spec import SCALES, available, load
from jumpbench.tables.store import is_running, read_failure, read_metrics

_STYLES = {"done": "green", "running": "yellow", "failed": "red", "missing": "dim"}


def print_list() -> None:
    """Every table: what it shows, cost class per scale, data it needs, what is recorded."""
    out = console()
    shown = RichTable(header_style="bold", pad_edge=False)
    for name in ("table", "what it shows", "cost", "data", "recorded"):
        shown.add_column(name, overflow="fold")
    broken = []
    for table_id in available():
        try:
            table = load(table_id)
        except UserError as error:
            broken.append(str(error))
            continue
        recorded = ", ".join(s for s in SCALES if recorded_file(table_id, s).is_file())
        shown.add_row(
            table_id, table.title, cost_of(table.cost), ", ".join(table.data) or "none",
            recorded or "–",
        )  # fmt: skip
    out.print(shown)
    out.print(
        Text(
            "cost, smoke/small/paper: A minutes on a CPU, B minutes on a GPU, C up to half an hour "
            "on a GPU, D more",
            style="dim",
        )
    )
    for line in broken:
        out.print(Text(f"malformed: {line}", style="red"))


def cost_of(cost: object) -> str:
    """Cost class per scale (``A/A/C``), or the one class of all."""
    if isinstance(cost, dict):
        return "/".join(str(cost.get(scale, "?")) for scale in SCALES)
    return str(cost or "?")


def recorded_file(table_id: str, scale: str):
    slug, name = table_id.split("/")
    return reproduce_dir() / slug / "results" / f"{name}.{scale}.json"


def state_of(run: Run) -> tuple[str, str]:
    """(done | running | failed | missing, why) of one run."""
    try:
        if read_metrics(run.folder) is not None:
            return "done", ""
    except UserError as error:
        return "failed", str(error)
    if is_running(run.folder):
        return "running", ""
    if why := read_failure(run.folder):
        return "failed", why
    return "missing", "begun, will be resumed" if (run.folder / "checkpoints").is_dir() else ""


def print_status(table_id: str, selection: Selection) -> bool:
    """Which runs of a table are done; True if all are."""
    table = load(table_id)
    grid = build(table, selection)
    runs = unique_runs(grid)
    used: dict[str, list[str]] = {}
    for cell in grid:
        for run in cell.runs:
            place = f"{cell.row.name} / {cell.column.name}"
            if place not in used.setdefault(run.hash, []):
                used[run.hash].append(place)
    shown = RichTable(header_style="bold", pad_edge=False, title=f"{table_id}, {selection.scale}")
    for name in ("run", "seed", "fills", "state"):
        shown.add_column(name, overflow="fold")
    states = {run.hash: state_of(run) for run in runs}
    for run in runs:
        state, why = states[run.hash]
        places = used.get(run.hash, ["needed by other runs"])
        fills = places[0] + (f" and {len(places) - 1} more" if len(places) > 1 else "")
        text = Text(state, style=_STYLES[state]).append(f": {why}" if why else "")
        shown.add_row(run.id, str(run.seed), fills, text)
    out = console()
    out.print(shown)
    found = [state for state, _ in states.values()]
    counted = ", ".join(f"{found.count(s)} {s}" for s in _STYLES if found.count(s))
    out.print(f"{counted or 'nothing to run'} of {len(runs)} runs")
    return all(state == "done" for state in found)


def make_run(experiment: str, overrides: Sequence[str], launcher: str) -> bool:
    """Make one run with what it needs, and print its metrics."""
    run = plan_run(experiment, overrides)
    engine = make_launcher(launcher)
    pending = [step for step in run.with_needs() if state_of(step)[0] != "done"]
    if pending:
        with Terminal(pending, lambda: None) as terminal:
            engine.launch(list({step.hash: step for step in pending}.values()), terminal, {})
    record = read_metrics(run.folder)
    if record is None:
        return False
    out = console()
    shown = RichTable(header_style="bold", pad_edge=False, title=run.id)
    shown.add_column("metric")
    shown.add_column("value", justify="right")
    for name, value in record["metrics"].items():
        shown.add_row(name, number(value, 4))
    out.print(shown)
    out.print(f"written: {run.folder}", soft_wrap=True)
    return True


def print_data(names: Sequence[str]) -> bool:
    """Verify (and where possible fetch) the named datasets, all if none is named."""
    from jumpbench.data.catalog import datasets

    known = datasets()
    for name in names:
        if name not in known:
            raise no_such("dataset", name, list(known))
    shown = RichTable(header_style="bold", pad_edge=False)
    for name in ("dataset", "what it is", "used by", "state"):
        shown.add_column(name, overflow="fold")
    good = True
    for name in names or known:
        dataset = known[name]
        try:
            state = Text(dataset.verify(), style="green")
        except UserError as error:
            good = False
            word = "missing" if isinstance(error, DataMissing) else "corrupt"
            state = Text(f"{word}: {error}", style="red")
        shown.add_row(name, dataset.about, ", ".join(dataset.used_by), state)
    console().print(shown)
    return good
