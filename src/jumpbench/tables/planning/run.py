"""One planned run: its configuration, its identity and the runs that it needs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from jumpbench.paths import outputs_root
from jumpbench.tables.planning import defaults
from jumpbench.tables.planning.models import is_model, weights_of


@dataclass(frozen=True)
class Run:
    """One planned run.

    ``config`` is plain (resolved) data in which ``run:HASH`` stands for the folder of a needed
    run, so that the same configuration has the same identity wherever its results live.
    """

    slug: str
    name: str
    hash: str
    config: dict[str, Any] = field(repr=False, compare=False)
    needs: dict[str, "Run"] = field(default_factory=dict, repr=False, compare=False)

    @property
    def id(self) -> str:
        return f"{self.slug}/{self.name}-{self.hash}"

    @property
    def folder(self) -> Path:
        return outputs_root() / "runs" / self.slug / f"{self.name}-{self.hash}"

    @property
    def seed(self) -> int:
        return int(self.config["seed"])

    @property
    def whole(self) -> dict[str, Any]:
        """The configuration with the defaults of what it constructs, as far as they can be read."""
        return cast(dict[str, Any], defaults.completed(self.config))

    def placed(self) -> dict[str, Any]:
        """The configuration with the folders of needed runs filled in, and the files of models.

        Raises:
            UserError, DataCorrupt: a model is not the one that was planned.
        """
        folders = {f"run:{run.hash}": str(run.folder) for run in self.needs.values()}
        starts = filter(is_model, (self.config.get("needs") or {}).values())
        folders |= {value: weights_of(value) for value in starts}

        def fill(value: Any) -> Any:
            if isinstance(value, dict):
                return {k: fill(v) for k, v in value.items()}
            if isinstance(value, list):
                return [fill(v) for v in value]
            return folders.get(value, value) if isinstance(value, str) else value

        return fill(self.config)

    def with_needs(self) -> Iterator["Run"]:
        """All runs that must exist for this one, in order, itself last."""
        for need in self.needs.values():
            yield from need.with_needs()
        yield self
