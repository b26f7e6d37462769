"""What the README and the guide show: code, files and commands, for the tests that run them."""

import re
import shlex
import subprocess
import sys

from jumpbench.paths import checkout

ROOT = checkout()
README = "README.md"
ADDED = "docs/adding-a-paper.md"  # followed by tests/test_sixth_paper.py
GUIDE = sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md")) if ROOT else []


def text_of(page):
    return (ROOT / page).read_text()


def blocks(page, language):
    """The fenced blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text_of(page), re.DOTALL | re.MULTILINE)


def commands(page):
    """The command lines of a page, each as its words."""
    lines = [line for block in blocks(page, "bash") for line in block.splitlines()]
    split = (shlex.split(line, comments=True) for line in lines)
    return [words for words in split if words]


def files(page):
    """{name: content} of the files that a page shows: blocks that begin with their name."""
    found = {}
    for language in ("python", "yaml"):
        for block in blocks(page, language):
            if named := re.match(r"# (\S+\.(?:py|yaml))\n", block):
                found[named[1]] = block
    return found


def environment(folder, *extras):
    """A virtual environment that is this one, complete for the scripts of a checkout."""
    (folder / "bin").mkdir(parents=True)
    for name, call in (("jumpbench", "-m jumpbench"), ("python", "")):
        (folder / "bin" / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {call} "$@"\n')
        (folder / "bin" / name).chmod(0o755)
    stamp = ["bash", "-c", "cat pyproject.toml constraints.txt | cksum | tr -c '0-9\\n' -"]
    done = subprocess.run(stamp, cwd=ROOT, capture_output=True, text=True, check=True)
    for extra in ("", *extras):
        (folder / f".jumpbench-{done.stdout.strip()}-{extra}").touch()
    return folder
