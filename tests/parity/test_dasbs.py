"""DASBS's schedules, bridge, targets of the four matchings and their losses against its release.

Networks are stored tables of log outputs. The released losses divide by the number R of times per
pair once more than ours, but for the corrector's adjoint loss.
"""

from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor, nn

from jumpbench.methods.dasbs.bridge import Pairs, Reference
from jumpbench.methods.dasbs.matcher import Matcher
from jumpbench.methods.dasbs.matching import AdjointMatching, DenoisingMatching
from jumpbench.processes.base import is_symbol
from jumpbench.processes.schedules import Constant, ModifiedLogLinear
from jumpbench.processes.uniform import UniformProcess
from parity.arrays import agree, arrays

SCHEDULES = {
    "constant": Constant(1.7),
    "loglinear": ModifiedLogLinear(1.3, 0.5),
    "memoryless": ModifiedLogLinear(2.0, 0.01),
}
SYMBOLS = (2, 4)
TIMES = 3  # R

each_n = pytest.mark.parametrize("n", SYMBOLS)
each_weighting = pytest.mark.parametrize("weighted", [False, True])


@dataclass(frozen=True)
class StoredBridge(Reference):
    """The reference process, whose times and inner states are the stored ones."""

    t: Tensor = None
    states: Tensor = None

    def bridge(self, pairs, t, generator):
        assert t.shape == self.t.shape
        return self.states

    def log_odds(self, t):
        return super().log_odds(self.t)


class Case:
    """Five pairs of path ends with N symbols, at R times each."""

    def __init__(self, n):
        self.stored = stored = arrays("dasbs", f"N{n}.")
        self.n, self.process, schedule = n, UniformProcess(n), SCHEDULES["loglinear"]
        self.before = schedule.integral(0.0, stored["t"])
        self.after = schedule.integral(stored["t"], 1.0)
        self.pairs = Pairs(stored["x0"], stored["x1"])
        self.reference = StoredBridge(self.process, schedule, stored["t"], stored["xt"])
        self.generator = torch.Generator().manual_seed(0)

    def end_ratios(self, x):
        assert torch.equal(x, self.stored["x1"])
        return self.stored["log_nu"] - self.stored["corrector"]

    def start_ratios(self, x):
        assert torch.equal(x, self.stored["x0"])
        return self.stored["log_mu"] - self.stored["controller_at_start"]

    def controller(self, x, t):
        assert torch.equal(x, self.stored["xt"].flatten(0, 1)) and t.shape == x.shape[:1]
        return self.stored["controller"].flatten(0, 1)

    def corrector(self, x):
        assert torch.equal(x, self.stored["x1"])
        return self.stored["corrector"]

    def controller_target(self, matching):
        return matching.controller(
            self.pairs, TIMES, self.end_ratios, self.reference, self.generator
        )

    def corrector_target(self, matching):
        return matching.corrector(
            self.pairs, TIMES, self.start_ratios, self.reference, self.generator
        )

    def losses(self, matching, weighted):
        """Of the controller and of the corrector."""
        sizes = (self.pairs.end.shape[1], self.n)
        matcher = Matcher(
            *sizes, lambda **_: nn.Identity(), torch.optim.SGD, matching,
            times=TIMES, reweight=weighted,
        )  # fmt: skip
        pairs = replace(self.pairs, log_weight=self.stored["log_weight"])
        rest = (self.reference, self.generator)
        controller = matcher.controller_divergence(self.controller, pairs, self.end_ratios, *rest)
        corrector = matcher.corrector_divergence(self.corrector, pairs, self.start_ratios, *rest)
        return matcher.mean(controller, pairs), matcher.mean(corrector, pairs)


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name):
    stored, schedule = arrays("dasbs", "schedule."), SCHEDULES[name]
    ours = schedule.integral(stored["s"], stored["t"])
    agree(ours, stored[f"{name}_integral"], 5e-14)
    agree(schedule.rate(stored["t"]), stored[f"{name}_rate"], 5e-14, relative=1e-14)


@each_n
def test_law_of_the_reference_bridge(n):
    case = Case(n)
    start, end = (x.unsqueeze(1).expand(-1, TIMES, -1) for x in (case.pairs.start, case.pairs.end))
    law = case.process.bridge(start, end, case.before, case.after)
    agree(law, case.stored["bridge"], 1e-14)


@each_n
def test_log_kernel_from_the_inner_state_to_the_end(n):
    case = Case(n)
    table = case.process.log_transition(case.stored["xt"], case.after)
    end = case.pairs.end[:, None, :, None].expand(-1, TIMES, -1, 1)
    agree(table.gather(-1, end).squeeze(-1).sum(-1), case.stored["log_kernel"], 1e-13)


@each_n
def test_targets_of_denoising_matching(n):
    """Entries at the current symbols mean nothing in either."""
    case, matching = Case(n), DenoisingMatching()
    _, x, ours = case.controller_target(matching)
    other = ~is_symbol(x, n)
    agree(ours[other], case.stored["log_ratio_controller"][other], 1e-13)
    ours = case.corrector_target(matching)
    other = ~is_symbol(case.pairs.end, n).unsqueeze(1).expand_as(ours)
    agree(ours[other], case.stored["log_ratio_corrector"][other], 1e-13)


@each_n
def test_targets_of_adjoint_matching(n):
    case, matching = Case(n), AdjointMatching()
    _, _, ours = case.controller_target(matching)
    agree(ours.exp(), case.stored["controller_adjoint_target"], 0, relative=1e-14)
    ours = case.corrector_target(matching).squeeze(1)
    agree(ours.exp(), case.stored["corrector_adjoint_target"], 0, relative=1e-14)


@each_n
@each_weighting
@pytest.mark.parametrize("matching", [AdjointMatching(), DenoisingMatching()], ids=["am", "dm"])
def test_losses(n, weighted, matching):
    case = Case(n)
    adjoint = isinstance(matching, AdjointMatching)
    name = f"{'adjoint' if adjoint else 'denoising'}_loss{'_weighted' if weighted else ''}"
    controller, corrector = case.losses(matching, weighted)
    agree(controller, TIMES * case.stored[f"controller_{name}"], 2e-6)
    agree(corrector, (1 if adjoint else TIMES) * case.stored[f"corrector_{name}"], 2e-6)
