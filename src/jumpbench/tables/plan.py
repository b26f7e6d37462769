"""From names to runs: compose configurations with Hydra, resolve what they need, give identities.

A run is its configuration. Two cells whose configurations agree share one run; a run that needs
another (a trained prior, ground-truth samples) names it by the other's identity.
"""

import copy
import functools
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from jumpbench.errors import UserError
from jumpbench.paths import conf_dir, outputs_root, own_conf_dir
from jumpbench.tables.names import no_such

# What cannot change a result is not part of a run's identity.
_ANONYMOUS = {"name", "logger", "checkpoint_every", "launcher"}
_ANONYMOUS_IN = {
    "trainer": {
        "accelerator", "devices", "num_nodes", "strategy", "enable_progress_bar",
        "enable_model_summary", "log_every_n_steps", "default_root_dir", "profiler",
    },
    "data": {"num_workers", "root", "pin_memory", "persistent_workers"},
}  # fmt: skip


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

    def placed(self) -> dict[str, Any]:
        """The configuration with the folders of needed runs filled in."""
        folders = {f"run:{run.hash}": str(run.folder) for run in self.needs.values()}

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


def plan_run(experiment: str, overrides: Sequence[str] = (), seed: int | None = None) -> Run:
    """The run of one experiment file with overrides.

    Raises:
        UserError: unknown experiment or key, an override that is no override, a missing value.
    """
    return _planned(experiment, tuple(overrides), seed)


def experiments() -> list[str]:
    """All experiment names (``slug/name``)."""
    folders = [root / "experiment" for root in (conf_dir(), own_conf_dir()) if root]
    return sorted(str(p.relative_to(f).with_suffix("")) for f in folders for p in f.rglob("*.yaml"))


@functools.cache
def _planned(experiment: str, overrides: tuple[str, ...], seed: int | None) -> Run:
    config = copy.deepcopy(_compose(experiment, overrides))
    if seed is not None:
        config.seed = seed
    return _plan(experiment, config, tuple(o for o in overrides if _is_anonymous(o)))


def _plan(experiment: str, config: DictConfig, passed_on: tuple[str, ...]) -> Run:
    slug = experiment.split("/")[0]
    needs: dict[str, Run] = {}
    try:
        for key, need in (config.get("needs") or {}).items():
            wanted = OmegaConf.to_container(need, resolve=True)
            if not isinstance(wanted, dict) or set(wanted) - {"experiment", "overrides"}:
                raise UserError(f"{experiment}: needs.{key} must have experiment and overrides")
            changes = (*map(str, wanted.get("overrides") or ()), *passed_on)
            needs[str(key)] = plan_run(str(wanted["experiment"]), changes)
            with open_dict(config):
                config.needs[key]["folder"] = f"run:{needs[str(key)].hash}"
        plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        raise UserError(f"experiment {experiment}: {_first_line(error)}") from None
    assert isinstance(plain, dict)
    plain["needs"] = {key: f"run:{run.hash}" for key, run in needs.items()}
    name = re.sub(r"[^A-Za-z0-9._=+-]+", "-", str(plain["name"]))
    return Run(slug, name, identity(plain), plain, needs)


def identity(config: dict[str, Any]) -> str:
    """First 10 hex digits of the sha256 of the configuration without what changes no result."""
    kept = {
        key: {k: v for k, v in value.items() if k not in _ANONYMOUS_IN.get(key, ())}
        if isinstance(value, dict)
        else value
        for key, value in config.items()
        if key not in _ANONYMOUS
    }
    text = json.dumps(kept, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def _is_anonymous(override: str) -> bool:
    """Whether an override (``trainer.accelerator=cpu``) leaves every identity alone."""
    key = override.split("=")[0].lstrip("+~")
    head, _, rest = key.partition(".")
    return head in _ANONYMOUS - {"name"} or rest in _ANONYMOUS_IN.get(head, ())


@functools.cache
def _compose(experiment: str, overrides: tuple[str, ...]) -> DictConfig:
    if experiment not in experiments():
        raise no_such("experiment", experiment, experiments())
    own = own_conf_dir()
    search = [f"hydra.searchpath=[file://{own}]"] if own else []
    try:
        with initialize_config_dir(str(conf_dir()), version_base="1.3"):
            return compose("run", overrides=[f"experiment={experiment}", *search, *overrides])
    except (HydraException, OmegaConfBaseException, ValueError, AssertionError) as error:
        raise UserError(f"experiment {experiment}: {_first_line(error)}") from None


def _first_line(error: BaseException) -> str:
    """The telling part of a Hydra or OmegaConf message, on one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    cause = str(error.__cause__ or "").strip().splitlines()
    text = lines[0] if lines else type(error).__name__
    if cause and cause[0] not in text:
        text += f" ({cause[0].strip()})"
    return text[:400]
