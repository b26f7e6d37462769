"""The example of the README runs as printed, and draws from its posterior."""

import re

import pytest

from jumpbench.paths import checkout
from oracles import all_states


@pytest.mark.skipif(checkout() is None, reason="needs the README of a checkout")
@pytest.mark.parametrize("page", ["README.md"])
def test_the_readme_example_draws_from_the_posterior(page, capsys):
    """All 4^6 states: the mean reward within 2 %, each number of equal neighbours within 4.5
    standard errors and 0.03 of the enumerated law."""
    text = (checkout() / page).read_text()
    snippets = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (snippet,) = [s for s in snippets if "SplitGibbs" in s]
    assert len([line for line in snippet.splitlines() if line]) <= 15
    scope = {}
    exec(compile(snippet, page, "exec"), scope)
    samples, reward = scope["draws"].samples, scope["reward"]
    assert capsys.readouterr().out.startswith("torch.Size([2000, 6]) 120")
    states = all_states(4, 6)
    rewards = reward(states).double()
    law = (1.5 * rewards).softmax(0)
    expected = float((law * rewards).sum())
    assert float(reward(samples).double().mean()) == pytest.approx(expected, rel=0.02)
    for value in range(6):
        share = float(law[rewards == value].sum())
        found = float((reward(samples) == value).double().mean())
        assert abs(found - share) < min(0.03, 4.5 * (share * (1 - share) / 2000) ** 0.5)
