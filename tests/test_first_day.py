"""A person's first day: what is typed in the first hour, from a clone to a page, in at most 40
lines, and what comes after, in as many."""

import json
import os
import re
import subprocess

import pytest

from documented import ROOT
from documented import environment as environment_at

TYPED = """\
git clone --quiet CLONE jumpbench
cd jumpbench
reproduce/run_table.sh dasbs/exact scale=smoke trainer.accelerator=cpu
cat > ring.py <<'END'
from jumpbench.targets import Target

class Ring(Target):
    def log_prob(self, x):
        return 0.8 * (x == x.roll(1, -1)).sum(-1)
END
mkdir -p mine/conf/target mine/tables/mine
cat > mine/conf/target/ring.yaml <<'END'
_target_: ring.Ring
length: 4
n_states: 3
END
export JUMPBENCH_CONF=mine/conf JUMPBENCH_REPRODUCE=mine/tables
ring="experiment=dasbs/exact target=ring trainer.accelerator=cpu"
jumpbench run $ring trainer.max_steps=60
cat > mine/tables/mine/exact.yaml <<'END'
extends: dasbs/exact
rows:
  - {name: Mine, overrides: [method.n_steps=5]}
END
jumpbench table mine/exact scale=smoke rows=Mine,DASBS trainer.accelerator=cpu
jumpbench sweep $ring trainer.max_steps=20 method.n_steps=5,10 seeds=2 metric=tv
python -c 'import jumpbench
rows = jumpbench.load_table("mine/exact", "smoke")
run = jumpbench.load_run(next(r["run"] for r in rows if r["row"] == "Mine" and r["run"]))
print(run.method.sample(8).samples.tolist())'
cat outputs/tables/mine/exact/smoke/table.tex
jumpbench report
"""

LATER = """\
jumpbench list | grep dasbs/exact
jumpbench plan dasbs/exact scale=smoke
jumpbench status dasbs/exact scale=smoke || true
jumpbench status mine/exact scale=smoke --json > status.json || true
jumpbench show experiment=dasbs/exact method.n_steps=7 | grep -m1 n_steps
jumpbench show dasbs/exact row=DASBS 'column=Ising 3x3, beta 0.28' scale=smoke > shown.txt
jumpbench tabel dasbs/exact || echo "refused: $?"
jumpbench table dasbs/exakt || echo "refused: $?"
jumpbench run experiment=dasbs/exact method.n_step=3 || echo "refused: $?"
jumpbench table dasbs/exact scale=smoke rows=DASBS notes=true trainer.accelerator=cpu
jumpbench run $ring trainer.max_steps=30 logger=csv seeds=2
find outputs -name 'metrics.csv' | wc -l
jumpbench run $ring trainer.max_steps=100000 budget.seconds=3 name=budgeted
timeout -s INT 15 jumpbench run $ring trainer.max_steps=100000 name=long || echo "stopped: $?"
cat > walls.py <<'END'
import torch
from jumpbench.evaluations.base import Evaluation

class Walls(Evaluation):
    def reset(self):
        self.counts = []

    def update(self, draws, reference):
        self.counts.append((draws.samples != draws.samples.roll(1, -1)).sum(-1))

    def results(self):
        return {"walls": torch.cat(self.counts).double().mean().item()}
END
jumpbench run $ring trainer.max_steps=20 evaluation=walls.Walls
jumpbench models
cat > drawn.py <<'END'
import jumpbench
from jumpbench.samplers import LocallyBalanced
from jumpbench.targets import Ising, enumerate_law
digits = jumpbench.load_model("blackout/mnist-16").method.sample(2).samples
print("digits", tuple(digits.shape), "log Z", float(enumerate_law(Ising(size=3, beta=0.3)).log_z))
print(sum(table["table"].startswith("dasbs/") for table in jumpbench.tables()), "tables of DASBS")
END
python drawn.py
jumpbench report
"""


def followed(lines, folder):
    """Type the lines, with an environment that is there already, behind the names that a person
    calls; what they showed and said."""
    venv = environment_at(folder / "venv")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JUMPBENCH_")}
    environment |= {"JUMPBENCH_VENV": str(venv), "PATH": f"{venv}/bin:{os.environ['PATH']}"}
    environment["PYTHONPATH"] = f"{folder}/jumpbench/src:{folder}/jumpbench"
    environment["PYTHONDONTWRITEBYTECODE"] = ""  # as a person has it
    script = "set -e\n" + lines.replace("CLONE", f"'{ROOT}'")
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=1800,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout, done.stderr


def check_hour(shown, outputs):
    assert "Exact errors on enumerable lattices, smoke run (smoke scale)" in shown
    rings = [p for p in (outputs / "runs/dasbs").glob("dasbs-exact-Ring-*") if str(p) in shown]
    found = [json.loads((p / "metrics.json").read_text())["metrics"].get("tv") for p in rings]
    assert 0 < min(tv for tv in found if tv is not None) < 0.9
    record = json.loads((outputs / "tables/mine/exact/smoke/table.json").read_text())
    mine = [c for c in record["cells"] if c["row"] == "Mine" and c["asked"]]
    assert mine and {c["status"] for c in mine} == {"measured"}
    assert "Sweep of method.n_steps" in shown
    (states,) = re.findall(r"^(\[\[.*\]\])$", shown, re.MULTILINE)
    assert len(json.loads(states)) == 8 and all(x in (0, 1) for s in json.loads(states) for x in s)
    assert r"\begin{tabular}" in shown and r"\textbf" in shown
    page = (outputs / "report/index.html").read_text()
    assert 'id="mine-exact"' in page and 'id="dasbs-exact"' in page and 'id="sweep-' in page


@pytest.mark.long
@pytest.mark.skipif(ROOT is None, reason="needs a checkout to clone")
def test_the_first_hour(tmp_path):
    assert len(TYPED.splitlines()) <= 40
    shown, _ = followed(TYPED, tmp_path)
    check_hour(shown, tmp_path / "jumpbench/outputs")


@pytest.mark.long
@pytest.mark.skipif(ROOT is None, reason="needs a checkout to clone")
def test_the_first_day(tmp_path):
    assert len(LATER.splitlines()) <= 40
    shown, said = followed(TYPED + LATER, tmp_path)
    outputs = tmp_path / "jumpbench/outputs"
    check_hour(shown, outputs)
    assert shown.count("refused: 2") == 3 and "stopped: 1" in shown
    assert "did you mean 'table'" in said and "did you mean 'dasbs/exact'" in said
    assert "did you mean 'method.n_steps'" in said
    assert json.loads((tmp_path / "jumpbench/status.json").read_text())["table"] == "mine/exact"
    assert "tv" in (tmp_path / "jumpbench/shown.txt").read_text()
    assert "digits (2, 1, 16, 16)" in shown and "tables of DASBS" in shown
    values = [json.loads(p.read_text())["metrics"] for p in outputs.glob("runs/*/*/metrics.json")]
    named = {p.name.split("-")[0]: p for p in (outputs / "runs/dasbs").iterdir()}
    budgeted = json.loads((named["budgeted"] / "metrics.json").read_text())["metrics"]
    assert 0 < budgeted["run/steps"] < 100_000
    assert (named["long"] / "checkpoints").is_dir() and not (
        named["long"] / "metrics.json"
    ).exists()
    assert any(0 < each.get("walls", 0) < 4 for each in values)
