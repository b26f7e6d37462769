"""Imports point downward only: mathematics, Lightning, the suite; no paper knows another one."""

import ast
from pathlib import Path

import jumpbench

ROOT = Path(jumpbench.__file__).parent
FLOORS = {
    **dict.fromkeys(("artifacts", "errors", "files", "kernels", "lazy", "paths", "seeding"), 0),
    **dict.fromkeys(("processes", "samplers", "targets", "networks", "solvers", "metrics"), 1),
    **dict.fromkeys(("data", "evaluations", "methods"), 2),
}
SUITE = 3  # and whatever is not listed
PAPERS = {"sgdd", "dasbs", "blackout", "dnfs", "symmetric_diffusers"}
SUITE_ONLY = {"hydra", "omegaconf", "wandb", "submitit", "ray"}


def imports():
    """(importing module, imported module), both as tuples of names, within functions too."""
    for file in sorted(ROOT.rglob("*.py")):
        module = (*file.relative_to(ROOT).parts[:-1], file.stem)
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                yield module, tuple(node.module.split("."))
            elif isinstance(node, ast.Import):
                yield from ((module, tuple(alias.name.split("."))) for alias in node.names)


def paper_of(module):
    return module[1] if module[0] == "methods" and set(module[1:2]) <= PAPERS else None


def test_every_import_points_downward():
    wrong = []
    for module, imported in imports():
        if module[0] in ("__init__", "__main__"):  # what the package offers, by name
            continue
        mine = FLOORS.get(module[0], SUITE)
        if imported[0] == "jumpbench" and len(imported) > 1:
            above = FLOORS.get(imported[1], SUITE) > mine
            theirs = paper_of(imported[1:]) if len(imported) > 2 else None
            if above or (theirs and mine == 2 and paper_of(module) != theirs):
                wrong.append((module, imported))
        elif (imported[0] in SUITE_ONLY and mine < 3) or (imported[0] == "lightning" and mine < 2):
            wrong.append((module, imported))
    assert wrong == []
