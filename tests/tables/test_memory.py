"""Freed memory stays with the process of a run."""

import os
import subprocess
import sys

import pytest

PROBE = """
import resource
import torch
from jumpbench.tables.memory import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        kept = [torch.ones(2**20) for _ in range(10)]
        del kept
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

torch.set_num_threads(1)
faults()
given_back, agreed = faults(), keep_freed_memory()
faults()
print(given_back, int(agreed), faults())
"""


def probe(**environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_"))}
    command = [sys.executable, "-c", PROBE]
    shown = subprocess.run(
        command, env=clean | environment, capture_output=True, text=True, check=True
    )
    return map(int, shown.stdout.split())


def test_the_next_step_finds_the_memory_of_the_last():
    given_back, agreed, kept = probe()
    if not agreed:
        pytest.skip("no glibc")
    # 400 MB are up to 102,400 faults, 200 with huge pages.
    assert given_back > 20 * (kept + 1)


def test_settings_of_the_environment_win():
    _, agreed, _ = probe(MALLOC_TRIM_THRESHOLD_="100000")
    assert not agreed
