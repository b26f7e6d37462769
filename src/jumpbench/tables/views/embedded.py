"""Pictures that are put into a page: PNG files that lie where they seem to."""

import base64
import contextlib
import sys
from collections.abc import Iterable
from pathlib import Path

from jumpbench.names import one_line
from jumpbench.paths import outputs_root, reproduce_dirs

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def embedded(path: Path) -> str | None:
    """The picture as an address that holds it; None, told on standard error, if it is none.

    A page is made to be shown to others. So a link that leads out of the results and records, or a
    file that is no picture, is left out of it.
    """
    content = picture_in(path, (outputs_root(), *reproduce_dirs()))
    if content is None:
        print(f"left out: {one_line(str(path))} is no picture of these results", file=sys.stderr)
        return None
    return "data:image/png;base64," + base64.b64encode(content).decode()


def picture_in(path: Path, folders: Iterable[Path]) -> bytes | None:
    """The content of a PNG file that lies in one of the folders, links followed; None otherwise."""
    try:
        real = path.resolve(strict=True)
        roots = [folder.resolve() for folder in folders]
        inside = real.is_file() and any(real.is_relative_to(root) for root in roots)
        content = real.read_bytes() if inside else b""
    except (OSError, RuntimeError):  # a loop of links
        return None
    return content if content.startswith(_SIGNATURE) else None


def is_chart(path: Path) -> bool:
    """Whether a picture is mostly white paper: a dark page may invert it, and no photograph."""
    from PIL import Image

    with contextlib.suppress(OSError, ValueError, SyntaxError):
        counts = Image.open(path).convert("L").histogram()
        return sum(counts[245:]) > 0.5 * sum(counts)
    return False
