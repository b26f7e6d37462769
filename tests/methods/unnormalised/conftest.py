import itertools

import pytest


@pytest.fixture
def ticking(monkeypatch):
    """A clock that ticks once a look, in place of the chains' stopwatches."""
    ticks = itertools.count()

    class Ticking:
        def __init__(self, device):
            self.began = next(ticks)

        def finished(self):
            return next(ticks) - self.began

    monkeypatch.setattr("jumpbench.methods.unnormalised.chains.Stopwatch", Ticking)
