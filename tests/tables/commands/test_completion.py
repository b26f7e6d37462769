"""What the Tab key completes, as asked and as bash and zsh do it."""

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time

import pytest

from jumpbench.cli import completion
from jumpbench.cli.commands import COMMANDS

COMPLETED = [
    (["tab"], ["table"]),
    (["table", "toy/"], ["toy/coins"]),
    (["table", "toy/coins", "ro"], ["rows="]),
    (["table", "toy/coins", "rows=f"], ["rows=fair"]),
    (["table", "toy/coins", "rows=fair", "ro"], []),
    (
        ["table", "toy/coins", "rows=fair,"],
        ["rows=fair,biased", "rows=fair,walk", "rows=fair,elsewhere"],
    ),
    (["table", "toy/coins", "rows=walk,fair,b"], ["rows=walk,fair,biased"]),
    (["table", "toy/coins", "rows=nobody,b"], []),
    (["table", "toy/coins", "columns=small n,la"], ["columns=small n,large n"]),
    (["show", "toy/coins", "row=fair,"], []),
    (["table", "toy/coins", "scale="], ["scale=smoke", "scale=small", "scale=paper"]),
    (["gpu", "scale=m"], ["scale=medium"]),
    (["table", "toy/*", "scale=m"], ["scale=medium"]),
    (["dashboard", "toy"], ["toy/coins"]),
    (["list", "toy"], ["toy/coins"]),
    (["models", "c"], ["check"]),
    (["models", "check", "blackout/mnist-1"], ["blackout/mnist-16"]),
    (["table", "toy/coins", "columns="], ["columns=small n", "columns=large n"]),
    (["run", "experiment=toy/w"], ["experiment=toy/walk"]),
    (["report", "--r"], ["--record", "--readme"]),
    (["table", "toy/coins", "recorded="], ["recorded=true"]),
    (["completion", ""], ["bash", "zsh"]),
    (["data", "mni"], ["mnist"]),
    (["nothing", ""], []),
]


@pytest.mark.parametrize(("words", "wanted"), COMPLETED)
def test_command_lines_are_completed(project, words, wanted):
    assert completion.candidates(words, COMMANDS) == wanted


def test_bash_completes_what_is_typed(project):
    """In bash itself, which breaks words at '='."""
    call = f'jumpbench() {{ "{sys.executable}" -m jumpbench "$@"; }}\n'
    ask = 'ask() { COMP_LINE="$1"; COMP_POINT=${#1}; _jumpbench; echo "${COMPREPLY[*]}"; }\n'
    lines = {
        "jumpbench sta": "status",
        "jumpbench table toy/c": "toy/coins",
        "jumpbench table toy/coins scale=sm": "smoke small",
        "jumpbench table toy/coins columns=sm": r"small\ n",
        r"jumpbench table toy/coins columns=small\ ": r"small\ n",
        r"jumpbench table toy/coins columns=small\ n,l": r"small\ n,large\ n",
    }
    script = call + completion.SCRIPTS["bash"] + ask
    script += "".join(f"ask '{line}'\n" for line in lines)
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == list(lines.values()), done.stderr


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes_what_is_typed(project, tmp_path):
    """In an interactive zsh, at a terminal: a key shows the line as the tabulator left it."""
    script = tmp_path / "script.zsh"
    script.write_text(
        f'jumpbench() {{ "{sys.executable}" -m jumpbench "$@"; }}\n'
        + completion.SCRIPTS["zsh"]
        + 'show() { print -r -- "<$BUFFER>"; BUFFER=; }\nzle -N show\nbindkey "^G" show\n'
        + "print rea''dy\n"
    )
    lines = {
        "jumpbench sta": "jumpbench status ",
        "jumpbench table toy/c": "jumpbench table toy/coins ",
        "jumpbench table toy/coins sca": "jumpbench table toy/coins scale=",
        "jumpbench table toy/coins columns=sm": r"jumpbench table toy/coins columns=small\ n ",
        "jumpbench nothing ": "jumpbench nothing ",
    }
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update(TERM="dumb", HOME=str(tmp_path))
        os.execvp("zsh", ["zsh", "-f", "-i"])
    try:
        os.write(terminal, f"source {script}\n".encode())
        read_until(terminal, b"ready\r\n")
        for line, wanted in lines.items():
            os.write(terminal, f"{line}\t\x07".encode())
            shown = read_until(terminal, b">\r\n")
            assert shown.decode().split("<")[-1].split(">")[0] == wanted
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)


def read_until(terminal, end, seconds=60):
    seen, stop = b"", time.monotonic() + seconds
    while end not in seen:
        assert time.monotonic() < stop, seen
        if select.select([terminal], [], [], 0.2)[0]:
            seen += os.read(terminal, 65536)
    return seen
