import torch

from jumpbench.metrics.paths import jumps_per_site


def test_jumps_are_counted_per_chain_and_site():
    path = torch.tensor([[[0, 1], [2, 2]], [[0, 2], [2, 2]], [[1, 1], [2, 0]]])
    # Sites of the first chain change 1 and 2 times, of the second 0 times and once.
    assert float(jumps_per_site(path)) == 1.0
    assert float(jumps_per_site(path[:1].expand(5, 2, 2))) == 0.0
