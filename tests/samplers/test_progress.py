"""Long draws say how far they are, and draw the same whether somebody listens or not."""

from types import SimpleNamespace

import pytest
import torch

from jumpbench.methods.sgdd import DPS, SMC, SVDD, MetropolisStep, Reward, SplitGibbs
from jumpbench.methods.sgdd.prior import ScorePrior
from jumpbench.methods.sgdd.product_prior import ProductPrior
from jumpbench.processes.uniform import UniformProcess
from jumpbench.samplers.progress import listening, reported
from jumpbench.tables.runs.training import ReportProgress

LAW = ProductPrior(torch.tensor([0.6, 0.3, 0.1], dtype=torch.float64), 2)
PRIOR = ScorePrior(LAW.score, UniformProcess(3), 2)


def test_inner_loops_divide_the_rounds_of_outer_ones():
    told = []
    with listening(told.append):
        for _ in reported("ab", 2):
            assert list(reported(range(5), 5)) == list(range(5))
    assert told == pytest.approx([0, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.6, 0.7, 0.8, 0.9])
    assert list(reported("ab", 2)) == ["a", "b"] and len(told) == 12  # nobody listens any more
    with pytest.raises(KeyError), listening(told.append):
        for _ in reported("ab", 2):
            raise KeyError
    with listening(told.append):
        list(reported("c", 1))
    assert told[-1] == 0


SAMPLERS = {
    "SVDD": SVDD(3, 5, 0, 1, chunk=2),
    "SMC": SMC(3, 5, 0, 1, chunk=2),
    "DPS": DPS(5, 0, chunk=2),
    "SGDD": SplitGibbs(5, 2, MetropolisStep(4)),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_tell_every_step_and_draw_the_same(name):
    def draw():
        generator = torch.Generator().manual_seed(1)
        return SAMPLERS[name](PRIOR, Reward(lambda x: -(x != 1).sum(-1).float()), generator, 4)

    told = []
    with listening(told.append):
        heard = draw().samples
    assert torch.equal(heard, draw().samples)
    rounds = 1 if name == "SGDD" else 2
    assert sorted(told) == told and told[0] == 0
    assert sorted(set(told)) == pytest.approx([i / (5 * rounds) for i in range(5 * rounds)])


def test_a_watch_hears_the_parts_of_a_test_batch():
    told = []
    watch = SimpleNamespace(progress=lambda *event: told.append(event[:3]))
    callback, trainer = ReportProgress(watch, every=0.0), SimpleNamespace(num_test_batches=[2])
    for batch in range(2):
        callback.on_test_batch_start(trainer, None, None, batch)
        for _ in reported(range(2), 2):
            pass
        callback.on_test_batch_end(trainer, None, None, None, batch)
    list(reported(range(2), 2))
    assert told == [("test", done, 2) for done in (0, 0.5, 1, 1, 1.5, 2)]
    callback.on_test_batch_start(trainer, None, None, 0)
    callback.on_exception(trainer, None, KeyboardInterrupt())
    list(reported(range(2), 2))
    assert len(told) == 6
