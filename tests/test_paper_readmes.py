"""The commands in the READMEs under reproduce/ are commands: as written, and run at smoke scale."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from jumpbench.cli.main import main
from jumpbench.tables.commands.single import _changes
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning import plan
from jumpbench.tables.planning.gate import construct
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


RUNS = [
    line
    for page in [*READMES, *ROOT.glob("docs/*.md")]
    for line in re.findall(r"`jumpbench run ([^`]*)`", page.read_text())
]


@pytest.mark.parametrize("line", RUNS)
def test_a_run_in_a_sentence_is_composed(line, tmp_path, monkeypatch):
    """A target of one's own is constructed, too: its class needs sizes."""
    experiment, *typed = shlex.split(line)
    if own := re.search(r"target=mine\.(\w+)", line):
        source = f"class {own[1]}(Target):\n    def log_prob(self, x):\n        return x.sum(-1)\n"
        (tmp_path / "mine.py").write_text("from jumpbench.targets import Target\n" + source)
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "mine", raising=False)
    plan.forget()
    name = experiment.removeprefix("experiment=")
    run = plan.plan_run(name, _changes(name, typed)[0])
    if own:
        assert construct(run.config["method"]["target"]).n_states > 1
    plan.forget()


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
