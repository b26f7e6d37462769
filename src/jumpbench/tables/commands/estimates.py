"""What runs are expected to take: seconds and memory of each, and the sentences that say so."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from jumpbench.tables.price.kept import taken_gb

GPUS_GB = (24, 40, 80)
"""Sizes of GPUs that runs are held against."""
SHOWN = 6
"""So many rows whose price is not known are named."""


@dataclass
class ExpectedCost:
    """Seconds of runs by hash, with their source; of those whose price is not known, the row."""

    seconds: dict[str, float] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    source: dict[str, str] = field(default_factory=dict)
    memory: dict[str, Mapping[str, float]] = field(default_factory=dict)  # GiB of each part
    rows: dict[str, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)  # of the unknown ones

    def add(self, other: "ExpectedCost") -> None:
        """Runs that two tables share count once, and are known if one of the two knows them."""
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine |= theirs
        self.unknown = {r: row for r, row in self.unknown.items() if r not in self.seconds}

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    def lines(self) -> Iterator[str]:
        """A row each: its runs, their seconds and memory, and where these come from."""
        for row in dict.fromkeys(self.rows.values()):
            runs = [run for run, name in self.rows.items() if name == row]
            known = [run for run in runs if run in self.seconds]
            if known:
                count = f"{row}: {len(known)} run{'s'[: len(known) > 1]}"
                sources = "; ".join(dict.fromkeys(self.source[run] for run in known))
                seconds = sum(self.seconds[run] for run in known)
                yield f"{count}, about {duration(seconds)} ({sources})"
                largest = max((self.memory.get(run, {}) for run in known), key=_total)
                if _total(largest) >= 0.05:
                    yield f"  {memory_line(largest)}"
            reasons = dict.fromkeys(self.why[run] for run in runs if run in self.unknown)
            if reasons:
                left = len(runs) - len(known)
                yield f"{row}: {left} run{'s'[: left > 1]}, not known: {'; '.join(reasons)}"

    def sentence(self) -> str:
        parts = []
        if self.seconds:
            count = len(self.seconds)
            sources = "; ".join(dict.fromkeys(self.source[run] for run in self.seconds))
            parts.append(
                f"about {duration(self.total)} for {count} run{'s'[: count > 1]} "
                f"one after the other ({sources})"
            )
        if self.unknown:
            rows = Counter(self.unknown.values())
            words = [f"{row} ({count})" for row, count in rows.items()]
            shown = ", ".join(words[:SHOWN]) + f" and {len(words) - SHOWN} more" * (
                len(words) > SHOWN
            )
            parts.append(f"how long these rows take is not known: {shown}")
        return "; ".join(parts)


def memory_line(memory: Mapping[str, float]) -> str:
    """``12.0 GiB (1.0 weights, ...), for a GPU of 24 GB``: the smallest that takes it."""
    needed = taken_gb(_total(memory))
    size = next((size for size in GPUS_GB if needed <= size), None)
    parts = ", ".join(f"{size:.1f} {name}" for name, size in memory.items() if size >= 0.05)
    fits = f"for a GPU of {size} GB" if size else f"for no GPU of {GPUS_GB[-1]} GB"
    return f"{_total(memory):.1f} GiB ({parts}), {fits}"


def _total(memory: Mapping[str, float]) -> float:
    return sum(memory.values())


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3.5 h``, ``9 days``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 72 else f"{hours / 24:.0f} days"
