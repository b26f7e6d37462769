"""A class of one's own in a paper's experiment: ``target=mine.Peaks``, ``network=mine.Net``.

In the place of a group's option stands the class. It gets its own defaults and what the command
line says of it (``target.length=6``), nothing of the node that it replaces: sizes of the experiment
are those of another model. Where that node holds several networks, each becomes one of the class.

What scales and tables say of such a node is left out where the class has no such argument. The same
holds for an option in a folder of ``JUMPBENCH_CONF``.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from hydra.core.override_parser.types import Override

from jumpbench.paths import conf_dirs, own_conf_dirs
from jumpbench.tables.planning.gate import permitted
from jumpbench.tables.planning.signatures import takes

_CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


def classes(groups: Sequence[Override]) -> dict[str, str]:
    """{group: class} of the groups whose last choice is a class."""
    last = {o.key_or_group: o for o in groups if o.package is None}
    named = {group: o.value() for group, o in last.items() if not o.is_delete()}
    return {
        group: value
        for group, value in named.items()
        if isinstance(value, str) and _CLASS.fullmatch(value)
    }


def in_place_of(node: Any, name: str) -> Any:
    """The node that constructs the class ``name`` where ``node`` stood."""
    inner = list(node.values()) if isinstance(node, Mapping) and "_target_" not in node else []
    if inner and all(isinstance(each, Mapping) and "_target_" in each for each in inner):
        return {key: in_place_of(each, name) for key, each in node.items()}
    partial = isinstance(node, Mapping) and node.get("_partial_")
    return {"_target_": name, **({"_partial_": True} if partial else {})}


def own_options(groups: Sequence[Override]) -> dict[str, Path]:
    """{group: file} of the groups whose last choice is an option of one's own."""
    last = {o.key_or_group: o.value() for o in groups if o.package is None and not o.is_delete()}
    files = {
        group: next(
            (f for folder in own_conf_dirs() if (f := folder / group / f"{value}.yaml").is_file()),
            None,
        )
        for group, value in last.items()
        if isinstance(value, str)
    }
    return {group: file for group, file in files.items() if file is not None}


def without_foreign_keys(node: Any, file: Path, experiment: str) -> Any:
    """A node made of an option of one's own, less what an experiment of the suite says of the one
    that it replaces, where the class has no such argument."""
    suites = conf_dirs()[-1] / "experiment" / f"{experiment}.yaml"
    own = any((f / "experiment" / f"{experiment}.yaml").is_file() for f in own_conf_dirs())
    if own or not suites.is_file() or not isinstance(node, Mapping) or "_target_" not in node:
        return node
    written = yaml.safe_load(file.read_text(encoding="utf-8"))
    if not isinstance(written, dict) or "defaults" in written:
        return node
    return {
        key: value
        for key, value in node.items()
        if key in written or takes(node["_target_"], str(key)) is not False
    }


def not_taken(key: str, config: Mapping[str, Any], groups: Sequence[str]) -> str | None:
    """The class that has no argument of that name, if ``key`` lies in one of these groups."""
    head, *names = key.split(".")
    node: Any = config.get(head)
    if head not in groups or not names:
        return None
    while isinstance(node, Mapping) and "_target_" not in node and names:
        node = node.get(names.pop(0))
    if not isinstance(node, Mapping) or "_target_" not in node or not names:
        return None
    name = str(node["_target_"])
    return name if takes(name, names[0]) is False and names[0] not in node else None


def check_exist(groups: Iterable[str], config: Mapping[str, Any]) -> None:
    """Refuses a class of one's own that is not there, in the nodes of these groups.

    Raises:
        UserError: it cannot be imported, or no configuration may call it.
    """
    for group in groups:
        node = config.get(group)
        inner = node.values() if isinstance(node, Mapping) and "_target_" not in node else [node]
        for each in inner:
            if isinstance(each, Mapping) and isinstance(each.get("_target_"), str):
                permitted(each["_target_"], group)


def own_name(experiment: str, config: Mapping[str, Any]) -> str | None:
    """``dasbs-ising-Peaks``: for a run whose name speaks of what only the replaced target has."""
    target = config.get("target")
    name = str(target.get("_target_", "")) if isinstance(target, Mapping) else ""
    if not name or name.startswith("jumpbench."):
        return None
    return f"{experiment.replace('/', '-')}-{name.rpartition('.')[2]}"
