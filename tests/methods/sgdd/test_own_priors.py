"""Examples of the guide and of SGDD's README: a prior and a reward, against enumeration."""

import re
from itertools import product

import pytest
import torch

from jumpbench.paths import checkout

# Where the example is, prior of a site, beta, and by how much the mean reward may miss that of the
# posterior: 4.5 standard errors of 1,000 samples, and what 20 particles bias.
CASES = {
    "SplitGibbs": ("README.md", [0.25] * 4, 1.5, 0.2),
    "MaskedProcess": ("reproduce/sgdd/README.md", [0.4, 0.3, 0.2, 0.1], 1.0, 0.2),
}


@pytest.mark.skipif(checkout() is None, reason="needs the documents of a checkout")
@pytest.mark.parametrize("kind", CASES)
def test_an_example_draws_from_the_posterior(kind):
    where, law, beta, tolerance = CASES[kind]
    text = (checkout() / where).read_text()
    snippets = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (snippet,) = [s for s in snippets if kind in s]
    assert len([line for line in snippet.splitlines() if line]) <= 15
    scope = {}
    exec(compile(snippet, "README.md", "exec"), scope)
    samples, reward = scope["draws"].samples, scope["reward"]
    assert len(samples) >= 1000 and samples.shape[1] == 6 and int(samples.max()) < 4
    states = torch.tensor(list(product(range(4), repeat=6)))
    log_prior = torch.tensor(law, dtype=torch.float64).log()[states].sum(-1)
    rewards = reward(states).double()
    expected = float(((log_prior + beta * rewards).softmax(0) * rewards).sum())
    before = float((log_prior.softmax(0) * rewards).sum())
    found = float(reward(samples).double().mean())
    assert abs(found - expected) < tolerance < (expected - before) / 3
