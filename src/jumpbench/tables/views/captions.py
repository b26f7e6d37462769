"""What stands below a picture of a table."""

import re

from jumpbench.names import one_line
from jumpbench.tables.language.types import Table

SAMPLES = "runs"
"""The picture of samples of the runs, where the table file names no figure."""
_CAPTION = "Samples of the first run of each row."
_NUMBERED = re.compile(r"figure(\d+[a-z]?)(?:_(.+))?")


def caption(table: Table, name: str) -> str:
    """What stands below a picture: the ``caption`` of the table file, else its name in words."""
    if name == SAMPLES:
        return _CAPTION
    for figure in table.figures or ():
        if figure.get("name", "figure") == name and figure.get("caption"):
            return one_line(str(figure["caption"]))
    if numbered := _NUMBERED.fullmatch(name):
        further = f", {numbered[2]}" if numbered[2] else ""
        return f"Figure {numbered[1]}{further}".replace("_", " ")
    return one_line(name[:1].upper() + name[1:]).replace("_", " ")
