"""The order of training: stages, each of a controller phase and a corrector phase."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where a gradient step stands: its stage (1, 2, ...), its phase, its number in the phase."""

    stage: int
    in_corrector_phase: bool
    index: int
    is_last: bool


@dataclass(frozen=True)
class Stages:
    """Lengths of the two phases of every stage, in gradient steps.

    No corrector: ``corrector_steps = 0``. A controller phase of None steps never ends.

    Raises:
        ValueError: no controller step, or a negative number.
    """

    controller_steps: int | None
    corrector_steps: int = 0

    def __post_init__(self) -> None:
        controller_steps = 1 if self.controller_steps is None else self.controller_steps
        if controller_steps < 1 or self.corrector_steps < 0:
            raise ValueError(
                f"a stage needs controller_steps >= 1 and corrector_steps >= 0, not "
                f"{self.controller_steps} and {self.corrector_steps}"
            )

    def place(self, step: int) -> Place:
        """Place of gradient step ``step`` (0, 1, ...)."""
        if self.controller_steps is None:
            return Place(1, False, step, False)
        stage, index = divmod(step, self.controller_steps + self.corrector_steps)
        if index < self.controller_steps:
            return Place(stage + 1, False, index, index == self.controller_steps - 1)
        index -= self.controller_steps
        return Place(stage + 1, True, index, index == self.corrector_steps - 1)
