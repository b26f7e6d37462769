"""How fast a run goes, how far it is and how long it still takes, as numbers and in words."""

from dataclasses import dataclass


@dataclass
class Pace:
    """How fast one run goes: steps of its present stage since the first one of this attempt;
    of one that a sampler tells of, its parts.

    What came before (imports, data, steps of an attempt that was stopped) says nothing about it.
    """

    began: float
    stage: str = ""
    done: float = 0
    total: int | None = None
    first_done: float = 0
    first_at: float = 0.0
    last_at: float = 0.0
    watched: str = ""

    def reached(
        self, stage: str, done: float, total: int | None, now: float, watched: str = ""
    ) -> None:
        if stage != self.stage:
            self.stage, self.first_done, self.first_at = stage, done, now
        self.done, self.total, self.last_at, self.watched = done, total, now, watched

    @property
    def step_seconds(self) -> float | None:
        steps = self.done - self.first_done
        return (self.last_at - self.first_at) / steps if steps > 0 else None

    @property
    def share(self) -> float:
        return self.done / self.total if self.total else 0.0

    def left(self) -> float | None:
        """Seconds to the end of the stage; None until two steps of it were seen."""
        if not self.total or self.step_seconds is None:
            return None
        return self.step_seconds * (self.total - self.done)

    @property
    def rate(self) -> str:
        """``4.2/s``, or ``3.1 s each``; empty until two steps were seen, and of a single one."""
        if not (seconds := self.step_seconds) or self.total == 1:
            return ""
        return f"{1 / seconds:.3g}/s" if seconds < 1 else f"{seconds:.3g} s each"

    def said(self) -> str:
        """``fit 110/1000, 12/s, 1 min 14 s left, loss 0.123``: as much of it as is known."""
        parts = [f"{self.stage} {far(self.done, self.total)}", self.rate]
        if (left := self.left()) and left >= 1:
            parts.append(f"{exact_duration(left)} left")
        return ", ".join(filter(None, [*parts, self.watched]))

    def whole(self) -> float | None:
        """Seconds that all steps of the stage take at this pace."""
        if not self.total or self.step_seconds is None:
            return None
        return self.step_seconds * self.total


def far(done: float, total: int | None) -> str:
    """``110/1000``; ``31 %`` within a step; ``110`` where nobody knows the end."""
    if total is None:
        return f"{done:.0f}"
    return f"{done:.0f}/{total}" if done == int(done) else f"{100 * done / total:.0f} %"


def exact_duration(seconds: float) -> str:
    """``40 s``, ``1 min 14 s``, ``3 h 05 min``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return (
        f"{minutes} min {rest:02d} s"
        if minutes < 60
        else f"{minutes // 60} h {minutes % 60:02d} min"
    )
