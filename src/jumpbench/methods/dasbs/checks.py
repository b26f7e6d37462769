"""Settings of DASBS that cannot work, found before training starts."""

from typing import TYPE_CHECKING

from jumpbench.errors import UserError

if TYPE_CHECKING:
    from jumpbench.methods.dasbs.module import DASBS

MEMORYLESS_DECAY = 0.01
"""Largest exp(-G(0,1)) of a reference that passes for memoryless (alpha <= 0.01 at gamma = 1)."""


def check_setting(method: "DASBS") -> None:
    """Raises :class:`UserError` with one line that says what to change."""
    positive = ("pairs", "times", "buffer_size", "refresh_every", "curve_every")
    for name in positive:
        if getattr(method, name) < 1:
            raise UserError(f"{name} is {getattr(method, name)}; it must be at least 1")
    if method.buffer_size < method.pairs:
        raise UserError(
            f"buffer_size={method.buffer_size} cannot hold the pairs={method.pairs} of one "
            "refresh; make it at least as large"
        )
    decay = float(method.reference.schedule.decay(0.0, 1.0))
    if method.memoryless and decay > MEMORYLESS_DECAY:
        raise UserError(
            f"without a corrector the reference must be memoryless, but a site remembers its start "
            f"with weight exp(-G(0,1)) = {decay:.3g}; use schedule.alpha <= 0.01, or a corrector"
        )
    if method.memoryless and not method.source.covers_space:
        raise UserError(
            "a memoryless reference forgets the source within the first instants, so paths must "
            "start from the uniform source; use UniformSource, or a corrector"
        )
    if method.reweight and not method.memoryless:
        raise UserError(
            "path weights say nothing unless the reference is memoryless; set reweight=false, or "
            "use a memoryless schedule without corrector"
        )
    if not method.controller_matching.sees_target and not method.reweight:
        raise UserError(
            f"{type(method.controller_matching).__name__} of the controller sees the target only "
            "through path weights; set reweight=true (memoryless only), or use AdjointMatching"
        )
    needs_cover = not method.memoryless and method.corrector_matching.needs_cover
    if needs_cover and not method.source.covers_space:
        raise UserError(
            f"{type(method.source).__name__} does not reach every state, so the corrector has no "
            "adjoint target; use corrector_matching=DenoisingMatching, or UniformSource"
        )
