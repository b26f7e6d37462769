"""The example of Blackout's README: one's own counts, modelled and sampled."""

import math
import re

import pytest
import torch

from jumpbench.paths import checkout


@pytest.mark.skipif(checkout() is None, reason="needs the README of a checkout")
def test_own_counts_are_learned():
    text = (checkout() / "reproduce" / "blackout" / "README.md").read_text()
    (snippet,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    own = snippet[snippet.index("class Spectra") : snippet.index("model = ")]
    assert len([line for line in own.splitlines() if line]) < 15
    torch.manual_seed(0)
    scope = {}
    exec(compile(snippet, "README.md", "exec"), scope)
    samples = scope["samples"].long()
    assert samples.shape == (500, 8) and 0 <= int(samples.min()) <= int(samples.max()) <= 40
    # One peak of about 33 units over a background of about 3
    assert abs(samples.double().sum(1).mean() - 54) < 8
    assert ((samples > 15).sum(1) == 1).double().mean() > 0.6
    assert scope["nats"].shape == () and 0 < float(scope["nats"]) < 8 * math.log(41)
