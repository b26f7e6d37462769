"""Figure 2 through a run of the test stage: nothing is drawn, all pairs are there."""

import pytest
from lightning import Trainer

from jumpbench.data.numbers import Numbers
from jumpbench.errors import UserError
from jumpbench.methods.symmetric_diffusers.shuffle_distances import ShuffleDistances
from jumpbench.processes.shuffles import tv_between, tv_to_uniform


def test_distances_of_all_pairs(tmp_path):
    method = ShuffleDistances(n=9, max_steps=9, threshold=0.01)
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    Trainer(accelerator="cpu", default_root_dir=tmp_path, **quiet).test(method, Numbers(1))
    found = method.results
    assert found["tv@5"] == float(tv_to_uniform(9, 5))  # not rounded to float32
    assert found["tv@3,5"] == float(tv_between(9, 3, 5))
    assert found["first_below"] == 9
    assert sum(name.startswith("tv@") for name in found) == 9 + 9 * 8 // 2
    assert method.artifacts["schedule"] == [0, 3, 5, 8]  # T = 8 is nearest to 0.01


def test_bad_settings_are_user_errors():
    with pytest.raises(UserError, match="n >= 2"):
        ShuffleDistances(n=1)
