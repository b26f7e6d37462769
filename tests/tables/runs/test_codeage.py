"""Which code a run is older than; a module that is not committed makes the code dirty."""

import ast
import json
import os
import subprocess

import pytest
import yaml

from jumpbench.errors import UserError
from jumpbench.paths import checkout as checkout_of_suite
from jumpbench.tables.runs import codeage, git, provenance, same_numbers


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
        codeage._does_now,
        git.has_commit,
        same_numbers.entries,
    ):
        cached.cache_clear()


def test_asking_git_leaves_its_index_alone(checkout):
    """What may be killed takes no lock: a file that was written again, as it is, renews nothing."""
    (checkout / "src/module.py").write_text("1")
    os.utime(checkout / "src/module.py", (1e9, 1e9))
    before = (checkout / ".git/index").read_bytes()
    forget()
    head = git.git(checkout, "rev-parse", "HEAD")
    assert provenance.code_version()["dirty"] is False and codeage._moved(checkout, head) == {}
    assert git.differing(checkout, head, ["src/module.py"]) == set()
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


def test_of_a_commit_that_is_elsewhere_only_edited_files_are_known(checkout, monkeypatch):
    """What was committed cannot be compared, even where the file is edited here."""
    module = checkout / "src/module.py"
    monkeypatch.setattr(codeage, "checkout", lambda: checkout)
    monkeypatch.setattr(codeage, "imported", lambda name: frozenset({module}))
    module.write_text("2")
    config, made = {"method": {"_target_": "any"}}, {"src/module.py": git.digest(module)}
    for commit in ("0" * 40, "--output=x", None):
        forget()
        assert not codeage.is_outdated(config, {"commit": commit, "edited": {}})
        assert not codeage.is_outdated(config, {"commit": commit, "edited": made})
    module.write_text("3")
    forget()
    assert codeage.is_outdated(config, {"commit": "0" * 40, "edited": made})


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
    entry = {"commit": git.git(checkout, "rev-parse", "HEAD"), "what": "w", "test": "t"}
    listed.write_text(json.dumps([entry]))
    assert not outdated()
    added.write_text("x = 3\n")
    assert outdated()
