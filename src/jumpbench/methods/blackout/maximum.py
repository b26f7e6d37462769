"""One largest count M for a process, or a baseline, and its data."""

from jumpbench.errors import UserError


def check_maximum(name: str, maximum: int, data: object) -> None:
    """Raises :class:`UserError` where ``data`` says that its counts have another maximum."""
    given = getattr(data, "maximum", maximum)
    if given != maximum:
        raise UserError(
            f"{name}({maximum}) with {type(data).__name__} of counts 0..{given}: "
            "give both one maximum"
        )
