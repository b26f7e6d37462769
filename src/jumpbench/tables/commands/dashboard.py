"""``jumpbench dashboard``: a W&B workspace or report of one table, written by code.

Its runs are those that ``logger=wandb`` mirrors: the group of the table and scale. Both show what
lies on the server, so they need a key and the network; nothing is made without.
"""

import importlib.util
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jumpbench.errors import UserError
from jumpbench.tables.commands.recorded_views import command_of, recorded_view
from jumpbench.tables.commands.results import table_content
from jumpbench.tables.judging.readings import source_name
from jumpbench.tables.language.metric import Metric
from jumpbench.tables.language.spec import load
from jumpbench.tables.language.types import Table
from jumpbench.tables.planning.selection import scale_of
from jumpbench.tables.runs.loggers import wandb_key
from jumpbench.tables.runs.mirrors import place_of
from jumpbench.tables.views.figures import entries
from jumpbench.tables.views.render import claims_in_markdown, to_markdown
from jumpbench.tables.views.wording import title

if TYPE_CHECKING:
    from wandb_workspaces.reports.v2 import Report
    from wandb_workspaces.workspaces import Workspace

CURVES = ("train/loss",)


def dashboard(
    table_id: str, scale: str, project: str = "jumpbench", entity: str = "", text: bool = False
) -> str:
    """Make the workspace, or the report (``text``), of a table on the server; its address.

    Raises:
        UserError: the package is missing, there is no key, the server refuses, or there is nothing
            to report.
    """
    if importlib.util.find_spec("wandb_workspaces") is None:
        raise UserError(
            "dashboard needs the package wandb-workspaces: pip install -e '.[dashboard]'"
        )
    make = report if text else workspace
    board = make(load(table_id), scale, project, entity or _own_entity())
    from wandb.errors import Error

    try:
        return str(board.save().url)
    except (Error, OSError, ValueError) as error:
        raise UserError(f"W&B: {' '.join(str(error).split())[:200]}") from None
    except TypeError:  # the answer to a question about a project that is not there
        raise UserError(
            f"W&B has no project {project}; mirror runs first: "
            f"jumpbench table {table_id} scale={scale} logger=wandb"
        ) from None


def workspace(table: Table, scale: str, project: str, entity: str) -> "Workspace":
    """Results, curves and the table itself, one section each; runs grouped by their rows.

    A bar panel for every metric that the table prints, in its order, with the mean of all seeds and
    columns of a row; which columns and seeds is a filter away (``Config("column")``).
    """
    import wandb_workspaces.workspaces as spaces

    scale_of(table, scale)
    bars, curves, whole = _panels(table)
    group = place_of(table.id, scale)["group"]
    return spaces.Workspace(
        entity=entity,
        project=project,
        name=group,
        sections=[
            spaces.Section(name="Results", panels=bars, is_open=True),
            spaces.Section(name="Training", panels=curves, is_open=True),
            spaces.Section(name="The table", panels=whole, is_open=True),
        ],
        runset_settings=spaces.RunsetSettings(
            filters=[spaces.Metric("Group") == group],
            groupby=[spaces.Config("row"), spaces.Config("column")],
        ),
    )


def report(table: Table, scale: str, project: str, entity: str) -> "Report":
    """The table as a text: claims, numbers beside the paper's and notes as they stand in its files
    (yours, else the recorded ones), then panels of its runs.

    Raises:
        UserError: it is neither made nor recorded.
    """
    import wandb_workspaces.reports.v2 as wr
    from wandb_workspaces.workspaces import Metric

    scale_of(table, scale)
    content = table_content(table.id, scale)
    view, group = recorded_view(table, content), place_of(table.id, scale)["group"]
    bars, curves, whole = _panels(table)
    runs = wr.Runset(entity=entity, project=project, name=group, filters=[Metric("Group") == group])
    blocks: list[Any] = (
        [wr.H1("Claims"), wr.MarkdownBlock(claims_in_markdown(view))] if view.claims else []
    )
    blocks += [wr.H1("Numbers"), wr.MarkdownBlock(to_markdown(replace(view, claims=())))]
    for heading, shown in (("Runs", bars), ("Training", curves), ("Cells and figures", whole)):
        blocks += [wr.H1(heading), wr.PanelGrid(runsets=[runs], panels=shown)]
    blocks += [wr.H1("Make it again"), wr.CodeBlock(command_of(table, content), language=None)]
    return wr.Report(
        entity=entity, project=project, title=view.heading[:128], description=view.about,
        blocks=blocks, width="fluid",
    )  # fmt: skip


def _panels(table: Table) -> tuple[list[Any], list[Any], list[Any]]:
    """Results (a bar panel a metric), curves, and the mirrored table with its figures."""
    import wandb_workspaces.reports.v2 as panels

    by_row = panels.Config("row")
    bars = [
        panels.BarPlot(title=title(metric), metrics=[*sources(table, metric)], groupby=by_row)
        for metric in table.metrics.values()
    ]
    curves = [
        panels.LinePlot(title=name, x="Step", y=[name], groupby=by_row, groupby_rangefunc="minmax")
        for name in CURVES
    ]
    figures = [f"figures/{entry['name']}" for entry in entries(table)]
    whole: list[Any] = [panels.WeavePanelSummaryTable(table_name="cells")]
    whole += [panels.MediaBrowser(media_keys=figures)] if figures else []
    return bars, curves, whole


def sources(table: Table, metric: Metric) -> list[str]:
    """What the mirrors call a metric: a name for each that its rows and columns give it."""
    names = {
        f"results/{source_name(metric, row, column)}": None
        for row in table.rows
        if not row.cited
        for column in table.columns
    }
    return list(names)


def _own_entity() -> str:
    """The entity of the key."""
    if not wandb_key():
        raise UserError("there is no W&B key: run 'wandb login', or set WANDB_API_KEY")
    import wandb

    os.environ.setdefault("WANDB_SILENT", "true")
    try:
        return str(wandb.Api(timeout=20).default_entity or "")
    except (wandb.errors.Error, OSError, ValueError) as error:
        raise UserError(f"W&B: {' '.join(str(error).split())[:200]}") from None
