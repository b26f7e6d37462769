"""Sinusoidal features and the lattice position table, entry by entry."""

import math

import pytest
import torch

from jumpbench.networks.embeddings import (
    interleaved_sin_cos,
    lattice_position_table,
    sin_cos,
    sinusoidal_features,
)


def test_features_are_cosines_then_sines_at_the_stated_frequencies():
    out = sinusoidal_features(torch.tensor([0.7, 3.0], dtype=torch.float64), 6)
    for row, t in zip(out, (0.7, 3.0), strict=True):
        waves = [t * 10_000 ** (-k / 3) for k in range(3)]
        expected = [math.cos(a) for a in waves] + [math.sin(a) for a in waves]
        torch.testing.assert_close(row, torch.tensor(expected, dtype=torch.float64))


def test_layouts_hold_the_same_numbers_in_their_order():
    t = torch.tensor([1.3])
    cosine, sine = sinusoidal_features(t, 8).split(4, dim=-1)
    torch.testing.assert_close(sinusoidal_features(t, 8, sin_cos), torch.cat([sine, cosine], -1))
    interleaved = sinusoidal_features(t, 8, interleaved_sin_cos)
    torch.testing.assert_close(interleaved[:, 0::2], sine)
    torch.testing.assert_close(interleaved[:, 1::2], cosine)


def test_position_table_puts_the_column_first_and_the_row_second():
    table = lattice_position_table(3, 5, 8)
    assert table.shape == (15, 8)
    row, column = 2, 4
    w = [1.0, 10_000**-0.5]
    expected = [math.sin(column * a) for a in w] + [math.cos(column * a) for a in w]
    expected += [math.sin(row * a) for a in w] + [math.cos(row * a) for a in w]
    torch.testing.assert_close(table[row * 5 + column], torch.tensor(expected))


def test_odd_dimensions_are_refused():
    with pytest.raises(ValueError, match="must be even"):
        sinusoidal_features(torch.zeros(2), 7)
    with pytest.raises(ValueError, match="multiple of 4"):
        lattice_position_table(3, 3, 6)
