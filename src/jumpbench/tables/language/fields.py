"""Types of the values in a table file."""

from typing import Annotated

from pydantic import AllowInfNan, ConfigDict, Field

Finite = Annotated[float, AllowInfNan(False)]
STRICT = ConfigDict(extra="forbid", strict=True)
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Words = tuple[str, ...]
Name = Annotated[str, Field(min_length=1)]
