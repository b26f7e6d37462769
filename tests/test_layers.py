"""Imports point downward only, inside functions too: mathematics, Lightning, the suite and its
rooms; no paper knows another one, and no module needs one that needs it."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import jumpbench

ROOT = Path(jumpbench.__file__).parent
FLOORS = {
    **dict.fromkeys(
        (
            "artifacts",
            "errors",
            "files",
            "lazy",
            "names",
            "ops",
            "paths",
            "seeding",
            "stopwatch",
            "version",
        ),
        0,
    ),
    **dict.fromkeys(("processes", "samplers", "targets", "networks", "solvers", "metrics"), 1),
    **dict.fromkeys(("data", "evaluations", "methods"), 2),
}
SUITE = 3  # and whatever is not listed
ROOMS = ("language", "planning", "price", "runs", "launchers", "judging", "views", "commands")
SHARED = {"common", "unnormalised"}  # of the methods; every other folder there is a paper
SUITE_ONLY = {"hydra", "omegaconf", "wandb", "submitit", "ray"}


@cache
def modules():
    """{name of a module, without the package: its file}."""
    found = {}
    for file in sorted(ROOT.rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


@cache
def imports():
    """(importing module, imported name) within the package, and (module, library) outside it."""
    inside, outside = set(), set()
    for module, file in modules().items():
        for node in ast.walk(ast.parse(file.read_text())):
            names = []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                head, _, rest = name.partition(".")
                (inside if head == "jumpbench" else outside).add(
                    (module, rest if head == "jumpbench" else head)
                )
    return inside, outside


def floor_of(module):
    return FLOORS.get(module.split(".")[0], SUITE)


def paper_of(module):
    words = module.split(".")
    is_paper = words[0] == "methods" and len(words) > 2 and words[1] not in SHARED
    return words[1] if is_paper else None


def room_of(module):
    """The number of a room; what is in none may be used by all of them (names) or by none (cli)."""
    words = module.split(".")
    return ROOMS.index(words[1]) if words[0] == "tables" and words[1:2] else None


def test_every_import_points_downward():
    inside, outside = imports()
    wrong = [
        (module, name)
        for module, name in inside
        if module not in ("", "__main__") and floor_of(name) > floor_of(module)
    ]
    wrong += [
        (module, library)
        for module, library in outside
        if (library in SUITE_ONLY and floor_of(module) < SUITE)
        or (library == "lightning" and floor_of(module) < 2)
    ]
    assert sorted(wrong) == []


def test_no_paper_knows_another_one():
    inside, _ = imports()
    wrong = [
        (module, name)
        for module, name in inside
        if paper_of(name) and floor_of(module) < SUITE and paper_of(name) != paper_of(f"{module}.x")
    ]
    assert sorted(wrong) == []


def test_rooms_of_the_engine_use_those_below_them_only():
    inside, _ = imports()
    between = [
        (module, name)
        for module, name in inside
        if room_of(module) is not None and name.startswith("tables.")
    ]
    assert len({(room_of(a), room_of(b)) for a, b in between}) > 10  # they were found at all
    assert sorted((a, b) for a, b in between if room_of(b) > room_of(a)) == []


def test_there_are_no_circles():
    inside, _ = imports()
    known = modules()
    needs: dict[str, set[str]] = {module: set() for module in known}
    for module, name in inside:
        stem = name if name in known else name.rpartition(".")[0]
        if stem in known and stem != module:
            needs[module].add(stem)
    TopologicalSorter(needs).prepare()  # raises CycleError, which names the circle
