"""The mirror of a whole table in W&B: cells as a table, files as an artifact, figures."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jumpbench.tables.language.scale import Heads
from jumpbench.tables.runs.loggers import close, is_wandb, opened
from jumpbench.tables.runs.mirrors import place_of
from jumpbench.tables.views.embedded import embedded

COLUMNS = (
    "row", "column", "metric", "paper", "paper_std", "measured", "std", "n_seeds", "n_samples",
    "status", "verdict", "run_ids",
)  # fmt: skip


def mirror_table(
    wanted: dict[str, Any], folder: Path, content: dict[str, Any], title: str, heads: Heads
) -> None:
    """Mirror a table as one run of its group, of job type ``table``, continued at every call.

    Args:
        wanted: the configuration of the logger; nothing is done for another than W&B's.
        folder: of the table; its files are the artifact.
        content: of ``table.json``.
        heads: what its scale calls rows and columns, as the runs' mirrors do.
    """
    if not is_wandb(wanted):
        return
    import wandb

    name = f"{content['table']}@{folder.name}"
    titles = {"name": name, "job_type": "table", **place_of(content["table"], content["scale"])}
    logger: Any = opened({**titles, **wanted}, folder, _id(name))
    logger.log_hyperparams({"title": title, **{k: content[k] for k in _SAID if k in content}})
    logger.log_table("cells", list(COLUMNS), rows(content["cells"], heads))
    pictures = sorted((folder / "figures").glob("*.png"))
    for picture in (path for path in pictures if embedded(path)):
        logger.log_image(f"figures/{picture.stem}", [str(picture)])
    artifact = wandb.Artifact(re.sub(r"[^\w.-]", "-", name, flags=re.ASCII), type="table")
    for file in sorted(folder.glob("table.*")):
        artifact.add_file(str(file))
    logger.experiment.log_artifact(artifact)
    close([logger])


_SAID = ("table", "scale", "kind", "overrides", "not_judged", "seeds", "claims", "provenance")


def rows(cells: Sequence[dict[str, Any]], heads: Heads) -> list[list[Any]]:
    """The cells as rows of :data:`COLUMNS`."""
    called = {"row": heads.rows, "column": heads.columns}

    def plain(key: str, value: Any) -> Any:
        if key in called:
            return called[key].get(value, value)
        if key == "run_ids":
            return " ".join(value)
        return None if key == "paper" and isinstance(value, str) else value  # a word for a number

    return [[plain(key, cell[key]) for key in COLUMNS] for cell in cells]


def _id(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:10]
