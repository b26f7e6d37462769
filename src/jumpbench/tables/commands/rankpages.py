"""The matrix of ranks of recorded tables: on their page, and as a picture beside the records."""

from pathlib import Path

from jumpbench.files import write_atomic
from jumpbench.paths import reproduce_dir
from jumpbench.tables.commands.pages import tables_of_the_pages
from jumpbench.tables.commands.recorded import read_record, recorded_scales
from jumpbench.tables.commands.recorded_views import recorded_view
from jumpbench.tables.language.spec import load
from jumpbench.tables.views.races import race_entries
from jumpbench.tables.views.rankings import Matrix, in_markdown, matrices, picture
from jumpbench.tables.views.smallpng import small_png

PICTURE = "ranks.png"


def recorded_matrices(slug: str) -> list[Matrix]:
    """Of the tables of a folder that race samplers, each at its largest recorded scale."""
    tables = [table for name in tables_of_the_pages(slug) if race_entries(table := load(name))]
    scales = {table.id: recorded_scales(table.id)[-1:] for table in tables}
    return matrices(
        recorded_view(table, read_record(table.id, scale))
        for table in tables for scale in scales[table.id]
    )  # fmt: skip


def ranks_section(slug: str) -> str:
    """What the page of a folder says above its tables; empty where nothing is ranked."""
    if not (text := in_markdown(recorded_matrices(slug))):
        return ""
    shown = ""
    if (reproduce_dir() / slug / "results" / PICTURE).is_file():
        shown = f"![Ranks of samplers over problems](results/{PICTURE})\n\n"
        shown += "Bars join mean ranks that cannot be told apart.\n\n"
    return f"## Ranks over all problems\n\n{shown}{text}"


def keep_ranks(record: Path, slug: str) -> None:
    """Draw the picture anew beside a record that was just written."""
    if content := picture(recorded_matrices(slug)):
        write_atomic(record.with_name(PICTURE), small_png(content))
