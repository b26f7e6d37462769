"""Seconds that computing takes, which budgets and rates of samplers are in."""

import time

import torch


class Stopwatch:
    """Seconds since it was made, of work on a device.

    On a CPU with one thread of torch they are this process's processor time, so that other programs
    on the machine, and their waiting, do not shorten a budget. Elsewhere they are the wall's: a GPU
    computes beside the processor, and several threads wait for each other.
    """

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self._device = torch.device(device)
        alone = self._device.type == "cpu" and torch.get_num_threads() == 1
        self._clock = time.process_time if alone else time.monotonic
        self._began = self._clock()

    @property
    def seconds(self) -> float:
        """So far; a GPU may still be at work on what it was asked."""
        return self._clock() - self._began

    def finished(self) -> float:
        """Seconds until the device has done all that it was asked, which is waited for."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return self.seconds
