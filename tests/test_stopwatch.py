"""What a stopwatch counts: the processor's time on one thread, the wall's otherwise."""

import time

import pytest
import torch

from jumpbench.stopwatch import Stopwatch


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
