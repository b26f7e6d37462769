"""The example of data/README.md: a prior trained on sequences of one's own, and its posterior."""

import re

import pytest
import torch

from jumpbench.paths import checkout

ROOT = checkout()


@pytest.mark.skipif(ROOT is None, reason="needs the README of a checkout")
def test_own_data_trains_a_prior_whose_posterior_likes_what_is_rewarded(capsys):
    """Walks by steps of -1, 0, 1 modulo 4: neighbours differ by 2 never; zeros are a quarter.

    The reward makes zeros e times as likely as the prior does, before the walk's own coupling.
    """
    text = (ROOT / "data/README.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    torch.manual_seed(0)
    scope = {}
    exec(compile(example, "data/README.md", "exec"), scope)
    drawn = scope["draws"].samples
    assert drawn.shape == (500, 6)
    zeros = (drawn == 0).double().mean()
    assert 0.35 < zeros < 0.7  # 0.25 without the reward; e / (e + 3) = 0.48 for free sites
    steps = (drawn[:, 1:] - drawn[:, :-1]) % 4
    assert (steps == 2).double().mean() < 0.1  # a third of all pairs is 0.25 without a prior
