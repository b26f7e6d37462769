"""The alternation: half bridges contract to the bridge, and so does the iteration inside one."""

from itertools import pairwise

import torch

from jumpbench.methods.dasbs.matching import adjoint_log_target
from jumpbench.metrics.histogram import total_variation
from jumpbench.processes.schedules import as_tensor


def test_alternating_stages_lower_the_divergence_from_the_target(bridge):
    """Each stage: phi_1 = nu / phihat_1, then the corrector update by its adjoint expectation."""
    kernel = bridge.kernel(0.0, 1.0)
    phihat_1 = torch.ones(9).double()
    divergences = []
    for _ in range(4):
        phi_1 = bridge.nu / phihat_1
        phi_0 = kernel @ phi_1
        end = (bridge.mu[:, None] * kernel * phi_1 / phi_0[:, None]).sum(0)
        divergences.append(float((bridge.nu * (bridge.nu / end).log()).sum()))
        update = kernel.T @ (bridge.mu / phi_0)

        # corr-AM at y: E over x_0 given x_1 = y of the shifted ratios of phihat_0 = mu / phi_0.
        start_law = ((bridge.mu / phi_0)[:, None] * kernel / update).T
        ratios = bridge.log_ratios(bridge.mu / phi_0).expand(9, -1, -1, -1)
        at, pole = bridge.states.unsqueeze(1), bridge.states.expand(9, -1, -1)
        target = adjoint_log_target(ratios, pole, at).exp()
        regressed = (start_law[..., None, None] * target).sum(1)
        expected = bridge.log_ratios(update).exp()
        other = torch.arange(3) != bridge.states[..., None]
        torch.testing.assert_close(regressed[other], expected[other], rtol=0, atol=1e-12)
        phihat_1 = update
    assert divergences[0] > 1e-3
    assert all(b < 0.5 * a for a, b in pairwise(divergences))


def test_regressing_on_its_own_coupling_converges_monotonically(bridge):
    """Exact regression on the reciprocal mixture of the current coupling, then its new coupling."""
    n_steps, n = 60, 9
    times = torch.linspace(0, 1, n_steps + 1).double()
    reference, states = bridge.reference, bridge.states
    optimum = bridge.phihat_0[:, None] * bridge.kernel(0.0, 1.0) * bridge.phi_1
    coupling = bridge.mu[:, None] * bridge.kernel(0.0, 1.0)
    ratios = bridge.log_ratios(bridge.phi_1).expand(n, -1, -1, -1)
    at, pole = states.unsqueeze(1), states.expand(n, -1, -1)
    targets = adjoint_log_target(ratios, pole, at).exp()  # (x, x1, D, N)
    current = torch.zeros(n, 2, 3, dtype=torch.bool).scatter(-1, states[..., None], True)
    errors = []
    for _ in range(3):
        paths = torch.eye(n).double()
        for t, after in pairwise(times):
            law = bridge.kernel(0.0, t)[:, None] * bridge.kernel(t, 1.0).T  # (x0, x1, x)
            law = law / bridge.kernel(0.0, 1.0)[..., None]
            joint = torch.einsum("ij,ijx->xj", coupling, law)
            weights = joint / joint.sum(1, keepdim=True)
            phi = (weights[..., None, None] * targets).sum(1)
            noise = as_tensor(reference.schedule.integral(t, after))
            jump = (phi * noise / 3).masked_fill(current, 0)
            site = jump + current * (1 - jump.sum(-1, keepdim=True))
            step = (site[:, 0, :, None] * site[:, 1, None, :]).flatten(1)
            paths = paths @ step
        coupling = bridge.mu[:, None] * paths
        errors.append(float(total_variation(coupling.flatten(), optimum.flatten())))
    assert all(b < a for a, b in pairwise(errors))
    assert errors[-1] < 0.2 * errors[0]
