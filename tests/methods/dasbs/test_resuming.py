"""DASBS goes on exactly where it stopped, and from the weights of another run."""

from functools import partial

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.methods.dasbs.probes import Every, Quality
from jumpbench.targets.ising import Ising
from methods.dasbs.small import make, train


@pytest.mark.parametrize("warm", [False, True])
def test_resumed_training_is_the_uninterrupted_one(tmp_path, warm):
    """Also of a run that starts from another's weights: it takes them once, not at every start."""

    def fresh(**changes):
        return make(
            Ising(3, 0.28),
            hidden=16,
            steps=(11, 7),
            buffer_size=100,
            refresh_every=4,
            probes=[Every(10, Quality(64))],
            **(start | changes),
        )

    start = {}
    if warm:
        hot = tmp_path / "hot" / "checkpoints" / "last.ckpt"
        train(fresh(seed=1), 5).save_checkpoint(hot)
        start = {"warm_start": str(tmp_path / "hot")}

    whole = fresh()
    train(whole, 40)
    first, second = fresh(), fresh()
    train(first, 25, checkpoint=tmp_path, every=25)
    train(second, 40, resume=tmp_path / "last.ckpt")
    a, b = whole.state_dict(), second.state_dict()
    assert a.keys() == b.keys()
    for name in a:
        if isinstance(a[name], torch.Tensor):
            assert torch.equal(a[name], b[name]), name
        else:
            assert a[name] == b[name], name
    assert whole.spent == second.spent
    for name, value in whole.curves.items():
        assert second.curves[name] == value or name.startswith("sample_seconds")
    assert {"jumps_per_site@10", "jumps_per_site@40"} <= whole.curves.keys()


def test_a_warm_start_takes_over_the_averaged_weights(tmp_path):
    settings = {"hidden": 8, "steps": (3, 2)}
    hot = make(Ising(3, 0.28), **settings)
    trainer = train(hot, 5)
    trainer.save_checkpoint(tmp_path / "checkpoints" / "last.ckpt")
    still = {"optimizer": partial(torch.optim.SGD, lr=0.0)}
    cold = make(Ising(3, 0.4), seed=1, warm_start=str(tmp_path), **settings | still)
    with pytest.raises(AssertionError):
        torch.testing.assert_close(
            cold.controller.network.state_dict(), hot.controller.network.state_dict()
        )
    train(cold, 5)
    for name in ("controller", "corrector"):
        wanted, got = hot.matchers[name].average.network, cold.matchers[name]
        for network in (got.network, got.average.network):
            torch.testing.assert_close(network.state_dict(), wanted.state_dict())
    with pytest.raises(UserError, match="is missing"):
        train(make(Ising(3, 0.4), warm_start=str(tmp_path / "nowhere"), **settings), 1)


def test_stage_one_after_a_warm_start_regresses_on_the_loaded_corrector(tmp_path):
    """The controller's target is nu-ratio over Phihat: constant 1 cold, the loaded one warm."""
    settings = {"hidden": 8, "steps": (3, 2)}
    hot = make(Ising(3, 0.28), **settings)
    train(hot, 5).save_checkpoint(tmp_path / "checkpoints" / "last.ckpt")
    target = Ising(3, 0.4)
    x = torch.randint(2, (6, 9), generator=torch.Generator().manual_seed(3))
    loaded = hot.corrector.average(x).detach()

    def end_ratios(method):
        """What the controller regresses on at x in the first step of stage 1."""
        ratios = []
        divergence = method.controller.controller_divergence

        def spied(control, pairs, end_ratios, *rest):
            ratios.append(end_ratios(x).detach())
            return divergence(control, pairs, end_ratios, *rest)

        method.controller.controller_divergence = spied
        train(method, 1)
        return ratios[0]

    plain = target.neighbor_log_ratios(x)
    torch.testing.assert_close(end_ratios(make(target, **settings)), plain)
    assert loaded.abs().max() > 0.05
    warm = make(target, seed=1, warm_start=str(tmp_path), **settings)
    torch.testing.assert_close(end_ratios(warm), plain - loaded)
