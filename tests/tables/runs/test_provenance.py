"""Time and memory are the run's own; a module that is not committed makes the code dirty."""

import ast
import json
import os
import subprocess
import time

import pytest
import torch
import toys
import yaml

from jumpbench.cli.main import main
from jumpbench.errors import UserError
from jumpbench.paths import checkout as checkout_of_suite
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.runs import codeage, provenance, same_numbers
from jumpbench.tables.runs.memory import forget_peak, peak_memory_gb


def test_the_peak_of_an_earlier_run_is_forgotten():
    block = torch.ones(100_000_000)  # 0.4 GB
    forget_peak()
    before = peak_memory_gb(on_gpu=False)
    del block
    forget_peak()
    assert peak_memory_gb(on_gpu=False) < before - 0.3
    block = torch.ones(100_000_000)
    del block
    assert peak_memory_gb(on_gpu=False) > before - 0.1


def test_a_clock_that_is_set_back_changes_no_time(project, monkeypatch):
    clock = iter(range(10**9, 0, -3600))
    monkeypatch.setattr(time, "time", lambda: float(next(clock)))
    assert main(["run", "experiment=toy/walk"]) == 0
    folder = plan_run("toy/walk").folder
    metrics = json.loads((folder / "metrics.json").read_text())["metrics"]
    assert 0 < metrics["run/fit_seconds"] < 600 and 0 < metrics["run/test_seconds"] < 600
    made = json.loads((folder / "provenance.json").read_text())
    assert 0 < made["wall_seconds"] < 600 and 0 < made["processor_seconds"] < 600


def test_numbers_of_single_samples_are_kept_with_the_metrics(project, monkeypatch):
    each = {"mean": [0.0, 1.0]}
    monkeypatch.setattr(toys.Heads, "artifacts", lambda self: {"mean": 0.5, "by_sample": each})
    assert main(["run", "experiment=toy/coin"]) == 0
    folder = plan_run("toy/coin").folder
    assert json.loads((folder / "metrics.json").read_text())["by_sample"] == each
    assert torch.load(folder / "samples.pt")["mean"] == 0.5
    assert "by_sample" not in torch.load(folder / "samples.pt")


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A git repository with a committed module."""

    for place in ("src/module.py", "reproduce/a/results/b.json", "conf/run.yaml", "pyproject.toml"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("1")
    subprocess.run(["git", "-C", str(tmp_path), "init", "-q"], check=True)
    commit(tmp_path)
    monkeypatch.setattr(provenance, "checkout", lambda: tmp_path)
    yield tmp_path
    forget()


def commit(place):
    """All that is there."""
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["add", "-A"], [*author, "commit", "-qm", "all"]):
        subprocess.run(["git", "-C", str(place), *words], check=True)


def forget():
    """As in a new process."""
    for cached in (
        provenance.code_version,
        provenance.edited_code,
        codeage._changed_since,
        codeage._has_changed,
        codeage._moved,
        same_numbers.entries,
    ):
        cached.cache_clear()


def test_asking_git_leaves_its_index_alone(checkout):
    """What may be killed takes no lock: a file that was written again, as it is, renews nothing."""
    (checkout / "src/module.py").write_text("1")
    os.utime(checkout / "src/module.py", (1e9, 1e9))
    before = (checkout / ".git/index").read_bytes()
    forget()
    head = codeage.git(checkout, "rev-parse", "HEAD")
    assert provenance.code_version()["dirty"] is False and codeage._moved(checkout, head) == {}
    assert codeage._differing(checkout, head, ["src/module.py"]) == set()
    assert (checkout / ".git/index").read_bytes() == before


@pytest.mark.parametrize(
    ("place", "dirty"),
    [
        (None, False), ("src/new.py", True), ("src/module.py", True), ("conf/new.yaml", True),
        ("reproduce/a/results/b.json", False), ("outputs/runs/x", False),
    ],
)  # fmt: skip
def test_what_is_not_committed_makes_the_code_dirty(checkout, place, dirty):
    forget()
    if place:
        (checkout / place).parent.mkdir(parents=True, exist_ok=True)
        (checkout / place).write_text("2")
    assert provenance.code_version()["dirty"] is dirty


@pytest.mark.parametrize("place", ["src/module.py", "src/new.py"])
def test_a_run_of_uncommitted_code_is_as_old_as_that_code(checkout, place, monkeypatch):
    """Not older when just made, nor once the same code is committed; older once it is edited."""
    monkeypatch.setattr(codeage, "checkout", lambda: checkout)
    monkeypatch.setattr(codeage, "imported", lambda name: frozenset({checkout / place}))
    config = {"method": {"_target_": "any"}}

    def noted():
        forget()
        return {"commit": provenance.code_version()["commit"], "edited": provenance.edited_code()}

    def outdated(origin):
        forget()
        return codeage.is_outdated(config, origin)

    committed = noted()
    assert committed["edited"] == {} and (place == "src/new.py" or not outdated(committed))
    (checkout / place).write_text("2")
    made = noted()
    assert list(made["edited"]) == [place] and not outdated(made) and outdated(committed)
    (checkout / place).write_text("3")
    assert outdated(made)
    (checkout / place).write_text("2")
    commit(checkout)
    assert not outdated(made) and outdated(committed)
    assert noted()["edited"] == {} and not outdated(noted())
    (checkout / place).write_text("1")  # as the first commit has it, but not as the run had it
    assert outdated(made)


CODE = '"""Doc."""\n\n\ndef f(x):\n    """Doc."""\n    return x + 1  # why\n'


@pytest.mark.parametrize(
    ("then", "now", "differs"),
    [
        (CODE, CODE.replace("Doc", "Other words"), False),
        (CODE, CODE.replace("# why", "# because"), False),
        (CODE, CODE.replace("x + 1", "(\n        x\n        + 1\n    )"), False),
        (CODE, CODE.replace("f(x)", "f(x: int) -> int"), False),
        (CODE, "from typing import Any\n" + CODE, False),
        (CODE, "import random\n" + CODE, True),
        (CODE, CODE.replace("x + 1", "x + 2"), True),
        (CODE, CODE.replace("def f(x)", "def f(x=1)"), True),
        (CODE, 'f = "Doc."\n', True),
        (CODE, "def f(x:\n", True),
        ('f = "a"\n', 'f = "b"\n', True),
    ],
)
def test_words_about_the_code_do_not_make_a_run_older(checkout, monkeypatch, then, now, differs):
    module = checkout / "src/module.py"
    monkeypatch.setattr(codeage, "checkout", lambda: checkout)
    monkeypatch.setattr(codeage, "imported", lambda name: frozenset({module}))
    module.write_text(then)
    commit(checkout)
    forget()
    origin = {"commit": provenance.code_version()["commit"], "edited": {}}
    module.write_text(now)
    assert codeage.is_outdated({"method": {"_target_": "any"}}, origin) is differs
    module.unlink()
    forget()
    assert codeage.is_outdated({"method": {"_target_": "any"}}, origin)


def test_a_commit_that_changes_no_number_does_not_make_a_run_older(checkout, monkeypatch):
    """Not alone, nor with one after it that is listed too; what is not listed does."""
    module, listed = checkout / "src/module.py", checkout / same_numbers.FILE
    monkeypatch.setattr(codeage, "checkout", lambda: checkout)
    monkeypatch.setattr(codeage, "imported", lambda name: frozenset({module}))
    listed.parent.mkdir(exist_ok=True)
    module.write_text("x = 1 + 1\n")
    commit(checkout)
    forget()
    origin = {"commit": provenance.code_version()["commit"], "edited": {}}

    def outdated():
        forget()
        return codeage.is_outdated({"method": {"_target_": "any"}}, origin)

    entries = []
    for text in ("x = 2 * 1\n", "x = 2\n"):
        module.write_text(text)
        commit(checkout)
        assert outdated()
        forget()
        made = provenance.code_version()["commit"]
        entries.append({"commit": made, "what": "faster", "test": "tests/a.py::test_a"})
        listed.write_text(yaml.safe_dump(entries))
        assert not outdated()
    module.write_text("x = 3\n")
    assert outdated()
    listed.write_text("- {commit: main, what: faster, test: a}\n")
    with pytest.raises(UserError, match="a hash"):
        outdated()


@pytest.mark.skipif(checkout_of_suite() is None, reason="needs a checkout")
def test_every_listed_commit_has_its_test():
    root = checkout_of_suite()
    entries = same_numbers.entries(root)
    assert entries
    for entry in entries:
        file, _, name = entry["test"].partition("::")
        tree = ast.parse((root / file).read_text())
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


BODY = "".join(f"def f{k}(x):\n    return g(x, {k})\n\n\n" for k in range(9))


@pytest.mark.parametrize(
    ("then", "now", "differs"),
    [
        ("", "", False),
        ("from jumpbench.old import g\n", "from jumpbench.room.old import g\n", False),
        ("from jumpbench import old\n", "from jumpbench.room import old\n", False),
        ("from jumpbench.old import g\n", "from jumpbench.old import g\n", True),  # another module
        ("from jumpbench.a import g\n", "from jumpbench.b import g\n", True),
        ("from jumpbench.a import g\n", "from jumpbench.a import h as g\n", True),
        ("", "x = 1\n", True),
    ],
)
def test_a_run_is_no_older_for_a_module_that_was_moved(checkout, monkeypatch, then, now, differs):
    before, after = checkout / "src/module.py", checkout / "src/room/module.py"
    monkeypatch.setattr(codeage, "checkout", lambda: checkout)
    monkeypatch.setattr(codeage, "imported", lambda name: frozenset({after}))
    before.write_text(then + BODY)
    (checkout / "src/jumpbench").mkdir()
    (checkout / "src/jumpbench/old.py").write_text(BODY.replace("f", "h"))
    commit(checkout)
    forget()
    origin = {"commit": provenance.code_version()["commit"], "edited": {}}
    after.parent.mkdir()
    before.rename(after)
    (checkout / "src/jumpbench/room").mkdir()
    (checkout / "src/jumpbench/old.py").rename(checkout / "src/jumpbench/room/old.py")
    after.write_text(now + BODY)
    commit(checkout)
    forget()
    assert codeage.is_outdated({"method": {"_target_": "any"}}, origin) is differs


def test_the_code_of_a_run_is_noted_before_it_begins(project, monkeypatch):
    """What is edited while a run is made did not make it."""
    seen = []
    monkeypatch.setattr(provenance, "edited", lambda root: {"src/x.py": f"{len(seen)}"})
    monkeypatch.setattr(provenance, "code_version", lambda: {"commit": "0", "dirty": True})
    provenance.edited_code.cache_clear()
    monkeypatch.setattr(toys.Walk, "on_test_end", lambda self: seen.append(1))
    assert main(["run", "experiment=toy/walk"]) == 0
    made = json.loads((plan_run("toy/walk").folder / "provenance.json").read_text())
    assert seen and made["edited"] == {"src/x.py": "0"}
    provenance.edited_code.cache_clear()


def test_precision_is_recorded_and_tf32_is_off_unless_asked_for(project):
    matmul, convolution = torch.backends.cuda.matmul, torch.backends.cudnn
    assert plan_run("toy/walk").hash == plan_run("toy/walk", ("tf32=false",)).hash
    for word, on in (("true", True), ("false", False)):
        assert main(["run", "experiment=toy/walk", f"tf32={word}"]) == 0
        origin = json.loads(
            (plan_run("toy/walk", (f"tf32={word}",)).folder / "provenance.json").read_text()
        )
        assert (origin["precision"], origin["tf32"]) == ("32-true", on)
        assert matmul.allow_tf32 is convolution.allow_tf32 is on


def test_a_file_that_such_a_commit_adds_is_no_change_either(checkout, monkeypatch):
    """As it was added; not once it is edited, and not where its commit is not listed."""
    added, listed = checkout / "src/added.py", checkout / same_numbers.FILE
    monkeypatch.setattr(codeage, "checkout", lambda: checkout)
    monkeypatch.setattr(codeage, "imported", lambda name: frozenset({added}))
    listed.parent.mkdir(exist_ok=True)
    forget()
    origin = {"commit": provenance.code_version()["commit"], "edited": {}}

    def outdated():
        forget()
        return codeage.is_outdated({"method": {"_target_": "any"}}, origin)

    added.write_text("x = 2\n")
    commit(checkout)
    assert outdated()
    entry = {"commit": codeage.git(checkout, "rev-parse", "HEAD"), "what": "w", "test": "t"}
    listed.write_text(json.dumps([entry]))
    assert not outdated()
    added.write_text("x = 3\n")
    assert outdated()
