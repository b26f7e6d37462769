"""The commands in the READMEs under reproduce/ are commands: as written, and run at smoke scale."""

import re
import shlex
from pathlib import Path

import pytest

from jumpbench.cli.main import main
from jumpbench.tables.language.spec import load
from jumpbench.tables.price import kept

ROOT = Path(__file__).parents[1]
READMES = sorted(ROOT.glob("reproduce/*/README.md"))


def documented(readme):
    """The arguments of every ``reproduce/run_table.sh``, in blocks and in lines."""
    text = readme.read_text()
    lines = re.findall(r"^(reproduce/run_table\.sh .*)$", text, re.MULTILINE)
    lines += re.findall(r"`(reproduce/run_table\.sh [^`\n]*)`", text)
    return [shlex.split(line, comments=True)[1:] for line in lines]


COMMANDS = [command for readme in READMES for command in documented(readme)]
# Settings that the text offers, with a command that takes them.
OFFERED = [
    ("dasbs/table2", "scale=medium", "rows=DASBS", "columns=beta_high=0.28", "trainer.devices=2"),
    ("dasbs/table2", "scale=paper", "rows=DASBS", "columns=beta_high=0.28", "method.guided=true"),
    ("symmetric_diffusers/table2", "scale=paper", "rows=SymmetricDiffusers (ours)", "columns=n=3",
     "trainer.precision=32-true", "method.compile=false", "network.encoder.hidden=6336"),
    ("symmetric_diffusers/table2", "scale=small", "rows=SymmetricDiffusers (ours)",
     "reverse.head.rows=object"),
]  # fmt: skip


def test_every_paper_says_how_its_tables_are_made():
    slugs = {command[0].split("/")[0] for command in COMMANDS}
    assert {readme.parent.name for readme in READMES} == slugs


@pytest.mark.parametrize("command", [*COMMANDS, *OFFERED], ids=lambda words: " ".join(words))
def test_a_documented_command_is_planned_as_it_is_written(command, capsys, monkeypatch):
    monkeypatch.setattr(kept, "_counted", lambda run: (kept.Price(), False))
    words = [word for word in command if not word.startswith("trainer.devices")]
    assert main(["plan", *words]) == 0
    assert re.search(r"\b[1-9]\d* runs?\b", capsys.readouterr().out)


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(words))
def test_a_documented_command_runs_at_smoke_scale(command, tmp_path, monkeypatch):
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path))
    if any("solver" in word for word in command):
        pytest.importorskip("ortools")
    scale = load(command[0]).scales["smoke"]
    kept = [word for word in command if not word.startswith(("scale=", "seeds=", "columns="))]
    for word in command:
        if word.startswith("columns=") and scale.only_columns is not None:
            names = re.split(r",(?=[^,]*=)", word.removeprefix("columns="))
            kept += ["columns=" + ",".join(n for n in names if n in scale.only_columns)]
    words = [word for word in kept if word != "columns="]
    assert main(["table", *words, "scale=smoke", "trainer.accelerator=cpu"]) == 0
