"""Pictures small enough to be kept with a record: PNG of few colours, scaled down where needed."""

import io
import math
from typing import Any

from jumpbench.errors import UserError

MOST_BYTES = 200_000
"""Of one recorded picture."""
_WIDEST = 1600
_SMALLEST = 160
"""Pixels: a picture below is no picture any more."""
_DRAWN = 8192
"""Colours: a picture of more is a photograph, whose best 256 take seconds to find."""
_VISIBLE = 1.0
"""Mean difference, of 255, that is seen."""


def small_png(content: bytes, most: int = MOST_BYTES) -> bytes:
    """The picture as a PNG of at most ``most`` bytes, on white where it is transparent.

    Of 256 colours where that is not seen, of all where it fits; smaller where neither fits.

    Raises:
        UserError: it is no picture, or does not fit at 160 pixels.
    """
    from PIL import Image

    try:
        whole = Image.open(io.BytesIO(content)).convert("RGBA")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        raise UserError("it cannot be read as a picture") from None
    opaque = Image.new("RGBA", whole.size, "white")
    opaque.alpha_composite(whole)
    picture = opaque.convert("RGB")
    share = min(1.0, _WIDEST / picture.width)
    while True:
        size = (max(1, round(share * picture.width)), max(1, round(share * picture.height)))
        scaled = picture if share == 1 else picture.resize(size, Image.Resampling.LANCZOS)
        for candidate in _candidates(scaled):
            buffer = io.BytesIO()
            candidate.save(buffer, format="PNG", optimize=True)
            if (taken := buffer.tell()) <= most:
                return buffer.getvalue()
        if max(size) < _SMALLEST:
            raise UserError(f"it does not fit into {most} bytes")
        share *= min(0.9, math.sqrt(most / taken))


def _candidates(picture: Any) -> Any:
    """A picture in the forms to try, the best first."""
    from PIL import Image, ImageChops, ImageStat

    if picture.getcolors(_DRAWN) is not None:
        few = picture.quantize(256, Image.Quantize.MAXCOVERAGE)  # keeps the colours of thin lines
        lost = ImageStat.Stat(ImageChops.difference(picture, few.convert("RGB"))).mean
        if max(lost) < _VISIBLE:
            yield few
            return
    yield picture
    yield picture.quantize(256, Image.Quantize.MEDIANCUT)  # fast for photographs, and near to them
