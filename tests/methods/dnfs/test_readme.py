"""The example of the README: short, and it runs."""

from pathlib import Path

import torch

README = Path(__file__).parents[3] / "reproduce" / "dnfs" / "README.md"


def test_the_example_runs_and_leaves_the_energy_alone():
    example = README.read_text().split("```python\n")[1].split("```")[0]
    lines = [line for line in example.splitlines() if line and "import" not in line]
    assert len(lines) < 15 and "max_steps=1000" in example
    names = {}
    exec(example.replace("max_steps=1000", "max_steps=2").replace("4096", "256"), names)
    values = names["method"].evaluation.results()
    assert 0 < values["ess"] <= 1 and values["log_z_error"] > 0
    assert all(p.grad is None for p in names["energy"].parameters())
    owned = {id(p) for p in names["method"].parameters()}
    assert not owned & {id(p) for p in names["energy"].parameters()}
    assert torch.isfinite(torch.tensor(values["log_z"]))
