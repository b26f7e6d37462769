"""Settings of DASBS that cannot work together."""

from typing import Any

from jumpbench.errors import UserError

MEMORYLESS = 0.01
"""Largest exp(-G(0,1)) of a reference that passes for memoryless (alpha <= 0.01 at gamma = 1)."""


def check_settings(method: Any) -> None:
    """Looks at a :class:`~jumpbench.methods.dasbs.module.DASBS` with its two matchers.

    Raises:
        UserError: a combination that cannot work, and what to change.
    """
    memoryless, matchers, source = method.memoryless, method.matchers, method.source
    controller, memory = method.controller, method.reference.memory
    if not memoryless and any(matcher.steps is None for matcher in matchers.values()):
        raise UserError("a phase without end (steps=null) leaves the other network untrained")
    if memoryless and memory > MEMORYLESS:
        raise UserError(
            f"without a corrector the reference must be memoryless, but a site remembers its "
            f"start with weight exp(-G(0,1)) = {memory:.3g}; use schedule.alpha <= 0.01, or a "
            "corrector"
        )
    if method.start and not memoryless:
        raise UserError(
            f"start={method.start}: with a corrector paths begin at 0, where the source is; a "
            "start above 0 is for memoryless schedules"
        )
    if memoryless and not source.covers_space:
        raise UserError(
            "a memoryless reference forgets the source within the first instants, so paths must "
            "start from the uniform source; use UniformSource, or a corrector"
        )
    if any(matcher.reweight for matcher in matchers.values()) and not memoryless:
        raise UserError(
            "path weights say nothing unless the reference is memoryless; set reweight=false, or "
            "use a memoryless schedule without corrector"
        )
    if not controller.matching.sees_target and not controller.reweight:
        raise UserError(
            f"{type(controller.matching).__name__} of the controller sees the target only through "
            "path weights; set reweight=true (memoryless only), or use AdjointMatching"
        )
    if not (memoryless or source.covers_space) and method.corrector.matching.needs_cover:
        raise UserError(
            f"{type(source).__name__} does not reach every state, so the corrector has no adjoint "
            "target; use DenoisingMatching for it, or UniformSource"
        )
