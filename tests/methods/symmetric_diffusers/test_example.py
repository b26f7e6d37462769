"""The example of the paper's README runs as printed, with fewer steps."""

import re

from jumpbench.paths import suite_root


def test_the_readme_example_runs():
    text = (suite_root() / "reproduce/symmetric_diffusers/README.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    space = {}
    exec(code.replace("max_steps=300", "max_steps=3"), space)
    assert space["method"].results["n_samples"] == 200
    assert space["method"].schedule[0] == 0
