"""The example of the README runs as printed."""

import re

import pytest

from jumpbench.paths import checkout


@pytest.mark.skipif(checkout() is None, reason="needs the README of a checkout")
def test_the_readme_example_runs_and_raises_the_reward(capsys):
    text = (checkout() / "README.md").read_text()
    (snippet,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len([line for line in snippet.splitlines() if line]) <= 15
    scope = {}
    exec(compile(snippet, "README.md", "exec"), scope)
    samples = scope["samples"]
    assert capsys.readouterr().out.startswith("torch.Size([64, 20]) 120")
    assert int(samples.min()) >= 0 and int(samples.max()) <= 3
    # A flat prior has 5 twos in 20 sites on average; the reward asks for more.
    assert scope["reward"](samples).mean() > 8
