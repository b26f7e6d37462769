"""Buffer, averaged weights, order of phases, sources."""

import pytest
import torch
from torch import nn

from jumpbench.methods.common.averaging import RampedAverage
from jumpbench.methods.dasbs.bridge import Pairs
from jumpbench.methods.dasbs.buffer import PairBuffer
from jumpbench.methods.dasbs.sources import ConstantSource, UniformSource
from jumpbench.methods.dasbs.stages import Stages
from jumpbench.targets.enumeration import enumerate_law


def numbered(first, n):
    """Pairs whose states and weights all hold their running number."""
    number = torch.arange(first, first + n)
    return Pairs(number[:, None].expand(n, 2), number[:, None].expand(n, 2), number.float())


class TestBuffer:
    def test_keeps_the_newest(self):
        buffer = PairBuffer(capacity=5, length=2)
        generator = torch.Generator().manual_seed(0)
        for first in (0, 3, 6):
            buffer.append(numbered(first, 3))
        drawn = buffer.draw(5, generator)
        assert sorted(drawn.end[:, 0].tolist()) == [4, 5, 6, 7, 8]
        assert torch.equal(drawn.start, drawn.end)
        assert torch.equal(drawn.log_weight, drawn.end[:, 0].float())

    def test_a_batch_above_the_capacity_leaves_its_end(self):
        buffer = PairBuffer(capacity=3, length=2)
        buffer.append(numbered(0, 8))
        drawn = buffer.draw(3, torch.Generator())
        assert sorted(drawn.end[:, 0].tolist()) == [5, 6, 7]

    def test_draws_without_replacement_from_the_filled_part_only(self):
        buffer = PairBuffer(capacity=100, length=2)
        buffer.append(numbered(1, 4))
        for _ in range(20):
            drawn = buffer.draw(4, torch.Generator().manual_seed(1)).end[:, 0]
            assert sorted(drawn.tolist()) == [1, 2, 3, 4]
        buffer.clear()
        buffer.append(numbered(7, 1))
        assert buffer.draw(4, torch.Generator()).end.tolist() == [[7, 7]]

    def test_state_survives_saving(self):
        buffer, copy = PairBuffer(5, 2), PairBuffer(5, 2)
        buffer.append(numbered(0, 7))
        copy.load_state_dict(buffer.state_dict())
        for b in (buffer, copy):
            b.append(numbered(20, 2))
        a, b = (x.draw(5, torch.Generator().manual_seed(2)).end for x in (buffer, copy))
        assert torch.equal(a, b)


def test_average_ramps_up_and_starts_at_the_initial_weights():
    network = nn.Linear(1, 1, bias=False)
    nn.init.constant_(network.weight, 1.0)
    average = RampedAverage(network, decay=0.5)
    expected = 1.0
    for j, value in enumerate((3.0, -1.0, 2.0, 5.0, 0.0, 4.0, 1.0, 2.0, 2.0, 7.0), start=1):
        nn.init.constant_(network.weight, value)
        average.update(network)
        decay = min(0.5, (1 + j) / (10 + j))
        expected = decay * expected + (1 - decay) * value
        assert average.network.weight.item() == pytest.approx(expected, rel=1e-5)
    restored = RampedAverage(network, decay=0.5)
    restored.load_state_dict(average.state_dict())
    assert restored.updates == 10
    average.copy_to(network)
    assert network.weight.item() == pytest.approx(expected, rel=1e-5)
    assert not any(p.requires_grad for p in average.parameters())
    assert not average.train().training


def test_order_of_phases():
    stages = Stages(controller_steps=3, corrector_steps=2)
    places = [stages.place(step) for step in range(10)]
    assert [p.stage for p in places] == [1] * 5 + [2] * 5
    assert [p.in_corrector_phase for p in places] == [False, False, False, True, True] * 2
    assert [p.index for p in places] == [0, 1, 2, 0, 1] * 2
    assert [p.is_last for p in places] == [False, False, True, False, True] * 2
    assert [Stages(2).place(step).stage for step in range(5)] == [1, 1, 2, 2, 3]
    endless = [Stages(None).place(step) for step in (0, 10**6)]
    assert [p.stage for p in endless] == [1, 1] and not any(p.is_last for p in endless)
    with pytest.raises(ValueError, match="controller_steps"):
        Stages(0)


@pytest.mark.parametrize(("source", "support"), [(UniformSource, 81), (ConstantSource, 3)])
def test_sources_draw_from_their_law(source, support):
    mu = source(length=4, n_states=3)
    law = enumerate_law(mu)
    assert (law.probs > 0).sum() == support
    n = 20_000
    frequency = law.histogram(mu.sample(n, torch.Generator().manual_seed(0)), 3)
    spread = (law.probs * (1 - law.probs) / n).sqrt().clamp(min=1e-12)
    assert ((frequency - law.probs) / spread).abs().max() < 4.5
    assert mu.covers_space == (support == 81)


def test_uniform_source_has_no_preference():
    mu = UniformSource(length=4, n_states=3)
    x = mu.sample(2, torch.Generator())
    assert mu.neighbor_log_ratios(x).abs().max() == 0
    assert mu.log_prob(x).exp().tolist() == pytest.approx([3**-4] * 2)
