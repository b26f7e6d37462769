"""The README's own-reward example runs as printed."""

SNIPPET = """
import torch
from jumpbench.methods.sgdd import Reward, ScorePrior, SplitGibbs

def score(x, t):  # your model: p_t(x with site i := v) / p_t(x), (B, D) -> (B, D, N)
    return torch.ones(*x.shape, 4)

def reward(x):  # your black box: (B, D) -> (B,), no gradients needed
    return (x == 2).sum(-1).float()

prior = ScorePrior(score, n_states=4, length=20)
sampler = SplitGibbs(n_iterations=20, prior_steps=5)
samples, info = sampler(prior, Reward(reward, beta=3.0), torch.Generator().manual_seed(0), 64)
print(samples.shape, info.network_evaluations)
"""


def test_snippet_runs_and_raises_the_reward(capsys):
    lines = SNIPPET.strip().splitlines()
    assert len([line for line in lines if line]) <= 15
    scope = {}
    exec(compile(SNIPPET, "README", "exec"), scope)
    samples = scope["samples"]
    assert capsys.readouterr().out.startswith("torch.Size([64, 20]) 120")
    assert int(samples.min()) >= 0 and int(samples.max()) <= 3
    # A flat prior has 5 twos in 20 sites on average; the reward asks for more.
    assert scope["reward"](samples).mean() > 8
