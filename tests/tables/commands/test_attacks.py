"""Spoilt command lines, table files, configurations and results, a thousand and more: never a
traceback, an internal error or a call without an end, and no number that is silently another."""

import functools
import json
import resource
import shutil
from pathlib import Path
from random import Random

import attacks
import pytest
from forked import forked

from jumpbench.cli.main import main
from jumpbench.tables.planning import plan

pytestmark = pytest.mark.long
CHECKOUT = Path(__file__).parents[3]
PARTS = 10
REAL = [
    "sgdd/table2", "dasbs/exact", "blackout/exact", "dnfs/exact", "symmetric_diffusers/table2",
]  # fmt: skip
PATIENCE = 120.0
"""Seconds: a plan of a real table counts what it takes, for 20 s on an idle processor."""
MEMORY = 24 * 2**30
"""Of addresses: what asks for more fails in that process, and not the machine."""


@pytest.fixture
def suite(project, monkeypatch):
    """The toy project with its own tables alone, all modules imported, nothing to be fetched."""
    (project / "suite/reproduce").mkdir(parents=True)
    (project / "suite/conf").symlink_to(CHECKOUT / "conf")
    monkeypatch.setattr("jumpbench.paths.suite_root", lambda: project / "suite")
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("JUMPBENCH_DATA", str(project / "data"))
    monkeypatch.setenv("JUMPBENCH_CACHE", str(project / "cache"))
    monkeypatch.chdir(project)
    assert main(["table", "toy/coins", "scale=smoke"]) == 0
    assert main(["report"]) == 0
    plan.forget()
    return project


def limited():
    """In the forked process, before the command."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    plan.forget()


def wrong(arguments):
    """What is wrong with how a call ended; empty if nothing is."""
    tried = forked(arguments, limited, limit=PATIENCE)
    said = tried.out + tried.err
    if tried.status is None:
        return f"{arguments}: no end"
    if tried.status not in (0, 1, 2) or "Traceback" in said or "JUMPBENCH_DEBUG" in said:
        return f"{arguments}: {tried.status}: {said[-600:]}"
    if tried.status == 2 and not (tried.err.startswith("error: ") or "\nerror: " in tried.err):
        return f"{arguments}: refused without a word: {said[-300:]}"
    return ""


@pytest.mark.parametrize("part", range(PARTS))
def test_a_thousand_command_lines(suite, part):
    random = Random(f"lines {part}")
    found = [wrong(attacks.spoilt_line(random)) for _ in range(1000 // PARTS)]
    assert not list(filter(None, found)), "\n".join(filter(None, found))


@functools.cache
def configurations():
    """{file of conf: table} that real tables use, beside the toys' own."""
    return {
        "experiment/dasbs/exact.yaml": "dasbs/exact", "experiment/dnfs/exact.yaml": "dnfs/exact",
        "experiment/sgdd/table2.yaml": "sgdd/table2", "run.yaml": "toy/coins",
        "experiment/toy/coin.yaml": "toy/coins", "experiment/toy/walk.yaml": "toy/coins",
    }  # fmt: skip


def asked(table, random):
    """Calls that read a table and its configurations, and make nothing."""
    calls = [["status", table, "scale=smoke"], ["plan", table, "scale=smoke"]]
    return calls + ([["list"]] if random.random() < 0.2 else [])


@pytest.mark.parametrize("part", range(PARTS))
def test_two_hundred_table_files(suite, part):
    random, found = Random(f"tables {part}"), []
    for name in REAL:  # what extends another table finds it
        (suite / "reproduce" / name).parent.mkdir(exist_ok=True)
        shutil.copy(CHECKOUT / "reproduce" / f"{name}.yaml", suite / "reproduce" / f"{name}.yaml")
    for _ in range(200 // PARTS):
        table = random.choice(["toy/coins", "toy/more", *REAL])
        file = suite / "reproduce" / f"{table}.yaml"
        good = file.read_text() if file.exists() else MORE
        file.write_bytes(attacks.spoilt_text(good, random))
        found += [f"{words}\n{file.read_bytes()!r:.200}" for call in asked(table, random)
                  if (words := wrong(call))]  # fmt: skip
        file.write_text(good)
    assert not found, "\n".join(found)


MORE = """\
extends: toy/coins
rows:
  - {name: unfair, overrides: [method.bias=0.7], note: "of ${method.bias}"}
claims:
  - {id: again, text: Lower., check: {order: {rows: [fair, unfair]}}, scales: {small: it is}}
"""


@pytest.mark.parametrize("part", range(PARTS))
def test_two_hundred_configurations(suite, part):
    random, found = Random(f"configurations {part}"), []
    for name in REAL:
        (suite / "reproduce" / name).parent.mkdir(exist_ok=True)
        shutil.copy(CHECKOUT / "reproduce" / f"{name}.yaml", suite / "reproduce" / f"{name}.yaml")
    for _ in range(200 // PARTS):
        name, table = random.choice(list(configurations().items()))
        file = suite / "conf" / name
        own = file.exists()
        good = (file if own else CHECKOUT / "conf" / name).read_text()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(attacks.spoilt_text(good, random))
        calls = [*asked(table, random), *([["experiments"]] if random.random() < 0.2 else [])]
        found += [f"{words}\n{name}: {file.read_bytes()!r:.300}" for call in calls
                  if (words := wrong(call))]  # fmt: skip
        file.write_text(good) if own else file.unlink()
    assert not found, "\n".join(found)


NUMBERS = ("measured", "std", "perfect", "uncertainty", "n_samples")


def numbers(folder):
    """{(row, column, number): value} of the toy table as its file says it."""
    content = json.loads((folder / "tables/toy/coins/smoke/table.json").read_text())
    return {(c["row"], c["column"], n): c[n] for c in content["cells"] for n in NUMBERS}


@pytest.mark.parametrize("part", range(PARTS))
def test_damaged_results(suite, part):
    random, found, folder = Random(f"results {part}"), [], suite / "outputs"
    table = suite / "reproduce/toy/coins.yaml"
    rows = "  - {name: second, experiment: toy/second}\n"
    rows += "  - {name: bad, overrides: [method.fail=boom], only: [small n]}\ncolumns:"
    table.write_text(table.read_text().replace("columns:", rows, 1).replace("figures: []\n", ""))
    assert main(["table", "toy/coins", "scale=smoke"]) == 1
    swept = ["sweep", "experiment=toy/coin", "method.bias=0.2,0.8", "metric=mean"]
    assert main(swept) == 0 and main(["report"]) == 0
    for run in (folder / "runs/toy").iterdir():
        (run / "job.json").write_text('{"id": "1", "log": "x", "submitted": 1.0}')
    secret, words = suite / "secret", "nobody is to read or change this"
    secret.write_text(words)
    pristine, before = suite / "pristine", numbers(folder)
    attacks.restore(folder, pristine)
    files = sorted(p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    for _ in range(170 // PARTS):
        attacks.restore(pristine, folder)
        file, kind = folder / random.choice(files), random.choice(attacks.DAMAGES)
        unfinished = random.random() < 0.3 and "runs" in file.parts
        if unfinished and file.name != "metrics.json":
            run = folder.joinpath(*file.relative_to(folder).parts[:3])
            (run / "metrics.json").unlink(missing_ok=True)
        attacks.damage(file, kind, random, secret)
        what = f"{file.relative_to(folder)} {kind}{' (unfinished)' if unfinished else ''}"
        calls = [["status", "toy/coins", "scale=smoke"], ["report"],
                 ["table", "toy/coins", "scale=smoke"], swept, ["report"]]  # fmt: skip
        found += [f"{what}: {said}" for call in calls if (said := wrong(call))]
        page = folder / "report/index.html"
        if secret.read_text() != words or (page.is_file() and words in page.read_text()):
            found.append(f"{what}: what a link led to was changed, or shown")
            secret.write_text(words)
        try:
            after = numbers(folder)
        except (OSError, ValueError):
            found.append(f"{what}: no table any more")
            continue
        found += [f"{what}: {cell}: {before[cell]} became {value}" for cell, value in after.items()
                  if value is not None and value != before[cell]]  # fmt: skip
    assert not found, "\n".join(found)
