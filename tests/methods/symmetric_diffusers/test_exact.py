import pytest
import torch
from lightning import Trainer

from jumpbench.data.steps import Steps
from jumpbench.errors import UserError
from jumpbench.methods.symmetric_diffusers.exact import ReachedLaws, ShuffleDistances
from jumpbench.processes.shuffles import tv_between, tv_to_uniform


def run(method, tmp_path):
    trainer = Trainer(
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    return trainer.test(method, Steps(), verbose=False)[0]


def test_distances_are_logged_for_all_pairs(tmp_path):
    method = ShuffleDistances(n=9, max_steps=9, threshold=0.01)
    found = run(method, tmp_path)
    assert found["test/tv@5"] == pytest.approx(float(tv_to_uniform(9, 5)), rel=1e-6)
    assert found["test/tv@3,5"] == pytest.approx(float(tv_between(9, 3, 5)), rel=1e-6)
    assert found["test/first_below"] == 9
    assert len(found) == 9 + 9 * 8 // 2 + 1
    assert method.artifacts["schedule"] == [0, 3, 5, 8]  # T = 8 is nearest to 0.01


def test_laws_are_logged_after_every_step(tmp_path):
    method = ReachedLaws(n=3, target=[0.25, 0.5, 0, 0.25, 0, 0])
    found = run(method, tmp_path)
    assert found["test/mass@0,321"] == pytest.approx(1 / 6)
    assert found["test/mass@2,132"] == pytest.approx(0.75)
    assert found["test/mass@4,231"] == pytest.approx(0.25)
    assert found["test/final_error"] < 1e-12
    assert torch.allclose(method.artifacts["laws"].sum(-1), torch.ones(5, dtype=torch.float64))


def test_bad_settings_are_user_errors(tmp_path):
    with pytest.raises(UserError, match="n >= 2"):
        ShuffleDistances(n=1)
    with pytest.raises(UserError, match=r"method\.target"):
        run(ReachedLaws(n=3, target=[1.0]), tmp_path)
