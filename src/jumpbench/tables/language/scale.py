"""The scales of a table file: what each changes, and what its numbers may decide."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from jumpbench.tables.language.fields import STRICT, Words

SCALES = ("smoke", "small", "medium", "paper")


ScaleName = Literal["smoke", "small", "medium", "paper"]
Cost = Literal["", "A", "B", "C", "D"]


@dataclass(frozen=True)
class Heads:
    """What rows and columns are called at one scale, by their names in the file."""

    rows: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)

    __pydantic_config__ = STRICT

    def row(self, name: str) -> str:
        return self.rows.get(name, name)

    def column(self, name: str) -> str:
        return self.columns.get(name, name)


@dataclass(frozen=True)
class Scale:
    """What a scale changes against the table as written, and what it may say.

    ``compare``: it has the paper's setting, so that published numbers stand beside its own and
    get a verdict (the paper scale has it unless it says no). ``decides``: it is a setting of our
    own that decides claims. Claims may name it, the paper scale, medium, and where ``compare``
    holds; smoke never. ``title``, ``about`` and ``heads`` name what it ran. ``replicates``: the
    samples that its claims are about ("the 100 test images"), with the trained networks as they
    are; their spread then decides where there is one seed.
    """

    name: ScaleName
    note: str = ""
    title: str = ""
    about: str = ""
    heads: Heads = Heads()
    compare: bool | None = None
    decides: bool | None = None
    replicates: str = ""
    seeds: Annotated[int, Field(ge=1, le=1000)] = 1
    overrides: Words = ()
    rows: Mapping[str, Words] = field(default_factory=dict)
    columns: Mapping[str, Words] = field(default_factory=dict)
    only_rows: Words | None = None
    only_columns: Words | None = None
    only_metrics: Words | None = None  # the others carry no information at this scale

    __pydantic_config__ = STRICT

    @property
    def compared(self) -> bool:
        return self.name == "paper" if self.compare is None else self.compare

    @property
    def judged(self) -> bool:
        if self.name == "smoke":
            return False
        if self.decides is not None:
            return self.decides
        return self.compared or self.name in ("medium", "paper")

    @property
    def kind(self) -> Literal["smoke", "miniature", "medium", "own setting", "paper setting"]:
        """What a reader may take its numbers for.

        ``own setting``: it decides claims of ours, in a setting that is not the paper's.
        """
        if self.name in ("smoke", "medium"):
            return self.name
        if self.compared:
            return "paper setting"
        return "own setting" if self.judged else "miniature"
