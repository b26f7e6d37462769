"""What a stopwatch counts: the processor's time on one thread, the wall's otherwise."""

import time

import pytest
import torch

from jumpbench.data.numbers import Numbers
from jumpbench.methods.unnormalised.chains import Chains
from jumpbench.samplers.mcmc.gibbs import SystematicGibbs
from jumpbench.stopwatch import Stopwatch
from jumpbench.tables.runs.training import FitClock
from jumpbench.targets.ising import Ising
from support import quiet_trainer


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_one_thread_of_a_processor_counts_work_and_no_waiting(threads):
    threads(1)
    watch = Stopwatch("cpu")
    time.sleep(0.3)
    waited = watch.seconds
    end = time.thread_time() + 0.3
    while time.thread_time() < end:
        pass
    assert waited < 0.2 and watch.seconds - waited >= 0.3


@pytest.mark.parametrize(("device", "n"), [("cuda", 1), ("cpu", 2)])
def test_elsewhere_the_wall_counts(threads, device, n):
    threads(n)
    watch = Stopwatch(device)
    time.sleep(0.2)
    assert watch.seconds >= 0.2


class Slow(Chains):
    """Waits before it draws, as for another program."""

    def draw(self, batch, generator):
        time.sleep(0.5)
        return super().draw(batch, generator)


def test_a_run_s_samples_and_training_are_timed_by_it(threads):
    threads(1)
    method = Slow(Ising(3, 0.3), SystematicGibbs(), collections=4, burn_in=1, spacing=1)
    quiet_trainer(1).test(method, datamodule=Numbers(8, 8), verbose=False)
    assert 8 * method.results["sample_seconds"] < 0.4
    clock = FitClock()
    clock.on_train_start(None, method)
    time.sleep(0.3)
    clock.on_train_end(None, method)
    assert clock.seconds < 0.2


def test_a_gpu_is_waited_for(monkeypatch):
    waited = []
    monkeypatch.setattr(torch.cuda, "synchronize", waited.append)
    watch = Stopwatch("cuda:0")
    assert watch.seconds <= watch.finished() and waited == [torch.device("cuda:0")]
    Stopwatch("cpu").finished()
    assert len(waited) == 1
