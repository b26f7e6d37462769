"""The test stage: the same numbers on one, two and three processes, and after any stop."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.methods.common.shards import Shards
from methods.noise import Noise, run_noise

TIMES = {"sample_seconds", "sample_seconds@a", "sample_seconds@b"}


def numbers(results):
    return {name: value for name, value in results.items() if name not in TIMES}


def in_processes(devices, folder, pause=0.0):
    script = Path(__file__).parents[1] / "noise.py"
    return subprocess.Popen(
        [sys.executable, script, str(devices), str(folder), str(pause)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip


def test_results_count_samples_and_costs():
    method = run_noise()
    assert method.drawn == [0, 1, 2, 3, 4]
    assert method.results["n_samples"] == 3 + 4 + 5 + 6 + 7
    assert method.results["network_evaluations"] == 4.0
    assert method.results["energy_evaluations"] == 2.0
    assert method.results["sequential_steps"] == 4.0
    assert len(method.artifacts["samples"]) == len(method.artifacts["log_weights"]) == 25
    assert method.artifacts["samples"].dtype == torch.uint8


def test_ways_of_drawing_are_named():
    results = run_noise(ways=("a", "b")).results
    assert results["mean"] == results["mean@a"] != results["mean@b"]
    assert results["n_samples@b"] == 25


def test_methods_of_one_class_and_seed_draw_common_random_numbers():
    """Whatever else they differ in, so comparisons pair the runs by seed."""
    one, other = run_noise(), run_noise(ways=("a",))
    assert torch.equal(one.artifacts["log_weights"], other.artifacts["log_weights"])
    draws = [torch.rand(9, generator=Noise(seed=s).test_generator(3)) for s in (0, 0, 1)]
    assert torch.equal(draws[0], draws[1]) and not torch.equal(draws[0], draws[2])


def test_every_batch_seed_and_class_draws_its_own_numbers():
    class Other(Noise):
        pass

    generators = [Noise().test_generator(number) for number in range(100)]
    generators += [Noise(seed=1).test_generator(0), Other().test_generator(0)]
    first = {float(torch.rand((), generator=generator)) for generator in generators}
    assert len(first) == 102
    noise = run_noise().artifacts["log_weights"]
    assert len(noise.unique()) == len(noise)


def test_what_is_on_disk_is_not_drawn_again(tmp_path):
    first = run_noise(folder=tmp_path)
    for number in (1, 3):
        (tmp_path / "draws" / f"{number:06d}.pt").unlink()
    second = run_noise(folder=tmp_path)
    assert second.drawn == [1, 3]
    assert numbers(second.results) == numbers(first.results) == numbers(run_noise().results)


def test_a_damaged_shard_is_named(tmp_path):
    run_noise(folder=tmp_path)
    shard = tmp_path / "draws" / "000002.pt"
    shard.write_bytes(shard.read_bytes()[:100])
    with pytest.raises(UserError, match=r"000002\.pt is missing or damaged.*delete it"):
        run_noise(folder=tmp_path)


def test_training_forgets_the_draws_of_older_weights(tmp_path):
    run_noise(folder=tmp_path)
    method = Noise()
    method.shards = Shards(tmp_path / "draws")
    assert 0 in method.shards
    method.on_train_start()
    assert 0 not in method.shards


def same_as_undisturbed(folder):
    reference = run_noise()
    results, artifacts = torch.load(folder / "results.pt", weights_only=True)
    assert numbers(results) == numbers(reference.results)
    for name, value in reference.artifacts.items():
        assert torch.equal(artifacts[name], value)


def test_begun_on_one_device_and_ended_on_two_no_bit_is_another(tmp_path):
    run_noise(folder=tmp_path)
    (tmp_path / "results.pt").unlink()
    for number in (0, 1, 4):
        (tmp_path / "draws" / f"{number:06d}.pt").unlink()
    assert in_processes(2, tmp_path).wait(timeout=180) == 0
    same_as_undisturbed(tmp_path)


@pytest.mark.long
def test_devices_and_kills_change_no_bit(tmp_path):
    """Begun and killed on one number of devices, ended on another: what one makes undisturbed."""
    process = in_processes(2, tmp_path, pause=0.5)
    draws = tmp_path / "draws"
    deadline = time.monotonic() + 120
    while not (draws.is_dir() and any(draws.glob("*.pt"))) and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "results.pt").exists()
    assert len(list(draws.glob("*.pt"))) < 5
    assert in_processes(3, tmp_path).wait(timeout=180) == 0
    same_as_undisturbed(tmp_path)


def test_several_devices_need_a_folder(tmp_path):
    method = Noise()
    method._trainer = type("Two", (), {"world_size": 2, "test_dataloaders": None})()
    with pytest.raises(UserError, match="numbered_loader"):
        method.on_test_epoch_start()
