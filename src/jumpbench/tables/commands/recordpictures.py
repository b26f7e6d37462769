"""Pictures beside a record: ``results/TABLE.SCALE.NAME.png``, named in its json with digests."""

import contextlib
import hashlib
import sys
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.files import write_atomic
from jumpbench.names import one_line
from jumpbench.paths import outputs_root
from jumpbench.tables.language.tablenames import FIGURE_NAME
from jumpbench.tables.runs.store import read_json
from jumpbench.tables.views.captions import SAMPLES
from jumpbench.tables.views.embedded import picture_in
from jumpbench.tables.views.runpictures import runs_of_rows
from jumpbench.tables.views.samplesheets import sample_sheet
from jumpbench.tables.views.smallpng import MOST_BYTES, small_png
from jumpbench.tables.views.view import View


def pictures_for(view: View, drawn: Iterable[Path]) -> dict[str, bytes]:
    """What is recorded of a table: the figures that its file names, as drawn; where it names none,
    a sheet of samples."""
    if view.table.figures is None:
        sheet = sample_sheet(runs_of_rows(view))
        return {SAMPLES: sheet} if sheet else {}
    contents = ((path.stem, picture_in(path, [outputs_root()])) for path in drawn)
    return {name: content for name, content in contents if content}


def keep_pictures(record: Path, pictures: Mapping[str, bytes]) -> list[dict[str, str]]:
    """Write pictures beside a record, each at most 200 kB; what its json says of them.

    One that cannot be made small enough is told on standard error and left out.
    """
    entries = []
    for name, content in pictures.items():
        file = record.with_name(f"{record.stem}.{name}.png")
        try:
            small = small_png(content)
        except UserError as error:
            print(f"no picture '{one_line(name)}' is recorded: {error}", file=sys.stderr)
            continue
        write_atomic(file, small)
        digest = hashlib.sha256(small).hexdigest()
        entries.append({"name": name, "file": file.name, "sha256": digest})
    return entries


def earlier_pictures(record: Path, names: Container[str]) -> list[dict[str, str]]:
    """What the json beside these pictures of a record says of them; they are left as they are."""
    content = read_json(record, "record it again")
    there = pictures_of(record, content)
    entries = content.get("pictures") or ()
    return [entry for entry in entries if entry["name"] in there and entry["name"] in names]


def pictures_of(record: Path, content: Mapping[str, Any]) -> dict[str, Path]:
    """The pictures that a record names, by their names.

    Each is a plain file beside the record, called after it, with the digest that the record says;
    another one is told on standard error and left out.
    """
    pictures: dict[str, Path] = {}
    named = content.get("pictures", ())
    for entry in named if isinstance(named, list | tuple) else ():
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not FIGURE_NAME.fullmatch(name):
            print(f"left out: a picture of {record.name} has no name of a file", file=sys.stderr)
            continue
        file = record.with_name(f"{record.stem}.{name}.png")
        if entry.get("file") == file.name and _is_kept(file, entry.get("sha256")):
            pictures[name] = file
        else:
            print(f"left out: {file} is not the picture that was recorded", file=sys.stderr)
    return pictures


def _is_kept(file: Path, digest: Any) -> bool:
    with contextlib.suppress(OSError):
        if file.is_symlink() or file.stat().st_size > MOST_BYTES:
            return False
        content = picture_in(file, [file.parent])
        return content is not None and hashlib.sha256(content).hexdigest() == digest
    return False


def drop_others(record: Path, entries: Iterable[Mapping[str, str]]) -> None:
    """Take away pictures of an earlier record, which this one does not name."""
    names = {entry["file"] for entry in entries}
    for file in record.parent.glob("*.png"):
        if file.name.startswith(f"{record.stem}.") and file.name not in names:
            file.unlink(missing_ok=True)
