"""What Hydra composes of an experiment and the options chosen for its groups."""

import functools
import re
from collections.abc import Sequence
from typing import Any

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.plugins import Plugins
from hydra.types import RunMode
from omegaconf import DictConfig

from jumpbench.errors import UserError
from jumpbench.names import no_such
from jumpbench.paths import conf_dirs, experiment_names
from jumpbench.tables.planning.fast import composition_cache, config_files
from jumpbench.tables.planning.fast.config_files import ConfFolder, ConfFolders
from jumpbench.tables.planning.fast.values import explained
from jumpbench.tables.planning.hydra_overrides import FAILURES

_PARTS_OF_AN_APPLICATION = (
    "help", "hydra_help", "hydra_logging", "job_logging", "launcher", "output", "sweeper",
)  # fmt: skip
NO_APPLICATION = [f"~hydra/{group}" for group in _PARTS_OF_AN_APPLICATION]
"""What Hydra sets up for a program that it starts; a composition leaves it out in the end."""


def _register_folders() -> None:
    """Have Hydra read our folders of configuration, and one's own before them."""
    for plugin in (ConfFolder, ConfFolders):
        Plugins.instance().register(plugin)


@functools.cache
def composed_groups(experiment: str | None, groups: tuple[str, ...]) -> dict[str, Any]:
    """What Hydra composes of an experiment with these choices; of the choices alone if None."""
    if experiment is not None and experiment not in (known := _known_experiments()):
        raise no_such("experiment", experiment, known)
    chosen = _choices(experiment, groups)
    about = f"experiment {experiment}" if experiment else ", ".join(groups)

    def by_hydra() -> DictConfig:
        _register_folders()
        with initialize_config_dir(str(conf_dirs()[-1]), version_base="1.3"):
            return compose("run", overrides=[*chosen, *NO_APPLICATION])

    try:
        return composition_cache.cached(by_hydra, conf_dirs(), chosen)
    except (*FAILURES, OSError) as error:
        raise UserError(f"{about}: {_no_option(error) or explained(error)}") from None
    except yaml.YAMLError as error:
        raise UserError(f"{about}: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise UserError(f"{about}: a value contains itself (an alias)") from None


def _no_option(error: BaseException) -> str | None:
    """What there is in place of an option of a group that Hydra did not find."""
    found = _NOT_FOUND.search(str(error))
    group, name = found.groups() if found else ("", "")
    while group and not (options := _options(group)) and "/" in group:
        group, _, last = group.rpartition("/")  # groups and options may have slashes both
        name = f"{last}/{name}"
    return str(no_such(group, name, options)) if group and options else None


_NOT_FOUND = re.compile(r"Could not find '([^']+)/([^'/]+)'")


def _options(group: str) -> list[str]:
    folders = [root / group for root in conf_dirs()]
    files = {file.relative_to(folder) for folder in folders for file in folder.rglob("*.yaml")}
    return sorted(str(file.with_suffix("")) for file in files)


def _choices(experiment: str | None, groups: Sequence[str]) -> list[str]:
    return [*([f"experiment={experiment}"] if experiment else []), *groups]


@functools.cache
def composed_files(experiment: str | None, groups: tuple[str, ...]) -> list[tuple[str, str]]:
    """The files that a composition is made of, in the order in which they are merged, each with
    the dotted name of the node that its content goes to."""
    _register_folders()
    chosen = [*_choices(experiment, groups), *NO_APPLICATION]
    with initialize_config_dir(str(conf_dirs()[-1]), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        defaults = loader.compute_defaults_list("run", chosen, RunMode.RUN).defaults
    files = [(f"{default.config_path}.yaml", default.package or "") for default in defaults]
    return [(name, package) for name, package in files if not name.startswith("hydra/")]


@functools.cache
def _known_experiments() -> list[str]:
    return experiment_names()


def forget() -> None:
    """Read the configuration files again."""
    config_files.forget()
    composition_cache.forget()
    composed_groups.cache_clear()
    composed_files.cache_clear()
    _known_experiments.cache_clear()
