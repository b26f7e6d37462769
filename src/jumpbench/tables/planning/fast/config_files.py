"""Folders of configuration as Hydra reads them: each file is parsed once, and it is noted which
files a composition was made of."""

import copy
import functools
import hashlib
import io
import os
from collections.abc import Sequence
from pathlib import Path

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, ListConfig, OmegaConf

from jumpbench.paths import conf_dirs

read: set[str] = set()
"""Names (``network/sgdd_score.yaml``) of the files that were read since this was last cleared."""


class ConfFolder(ConfigSource):
    """A folder of configuration files, ``conf://PATH``."""

    @staticmethod
    def scheme() -> str:
        return "conf"

    def load_config(self, config_path: str) -> ConfigResult:
        name = self._normalize_file_name(config_path)
        read.add(name)
        known = _parsed(Path(self.path, name))
        # Hydra takes the list of defaults out of what it gets, and merges the rest in place.
        return ConfigResult(self.provider, self.full_path(), *copy.deepcopy(known))

    def is_group(self, config_path: str) -> bool:
        return os.path.isdir(Path(self.path, config_path))

    def is_config(self, config_path: str) -> bool:
        return _is_file(Path(self.path, self._normalize_file_name(config_path)))

    def available(self) -> bool:
        return self.is_group("")

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        names: list[str] = []
        for file in sorted(Path(self.path, config_path).iterdir()):
            place = str(Path(config_path, file.name))
            self._list_add_result(names, place, file.name, results_filter)
        return sorted(set(names))


class ConfFolders(SearchPathPlugin):
    """One's own folders before that of the suite (``hydra.searchpath`` only adds some behind)."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        *own, suites = conf_dirs()
        for item in search_path.get_path():
            if item.path == str(suites):
                item.path = f"conf://{suites}"
                for folder in own:
                    search_path.prepend("own", f"conf://{folder}", anchor="main")
                return


def digest(name: str, folders: Sequence[Path]) -> str | None:
    """Of the file of that name which Hydra would read; None if there is none."""
    file = next((path for folder in folders if _is_file(path := folder / name)), None)
    return None if file is None else hashlib.sha256(_content(file)).hexdigest()[:16]


def forget() -> None:
    """Look at the files again."""
    for function in (_is_file, _content, _parsed):
        function.cache_clear()


@functools.cache
def _is_file(file: Path) -> bool:
    return os.path.isfile(file)  # also of a name that is too long


@functools.cache
def _content(file: Path) -> bytes:
    """Read once, so that what is parsed and its digest are of one state of the file."""
    return file.read_bytes()


@functools.cache
def _parsed(file: Path) -> tuple[DictConfig | ListConfig, dict[str, str | None]]:
    """Content and header."""
    text = _content(file).decode("utf-8")
    try:
        content = OmegaConf.load(io.StringIO(text))
    except OSError:  # what OmegaConf makes of a number
        raise ValueError(f"{file} is no mapping of keys") from None
    return content, ConfigSource._get_header_dict(text[:512])
