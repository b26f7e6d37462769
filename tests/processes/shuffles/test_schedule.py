import pytest

from jumpbench.processes.shuffles import choose_schedule, choose_steps, tv_to_uniform
from jumpbench.processes.shuffles.schedule import (
    insertion_cutoff,
    riffle_cutoff,
    schedule_distances,
    transposition_cutoff,
)

# Published schedules with the distances they imply: objects, schedule, TV to uniform at T,
# TV of consecutive entries (three digits).
PUBLISHED = [
    (3, [0, 2, 7], 0.0039, [0.688, 0.142]),
    (5, [0, 2, 8], 0.0046, [0.945, 0.358]),
    (7, [0, 3, 8], 0.0078, [0.998, 0.281]),
    (9, [0, 3, 5, 9], 0.0058, [1.00, 0.324, 0.092]),
    (15, [0, 4, 7, 10], 0.0064, [1.00, 0.378, 0.046]),
    (32, [0, 5, 7, 12], 0.0053, [1.00, 0.470, 0.158]),
    (52, [0, 5, 6, 7, 10, 13], 0.0054, [1.00, 0.626, 0.331, 0.295, 0.038]),
    (100, [0, 8, 10, 15], 0.0036, [1.00, 0.331, 0.109]),
    (200, [0, 9, 10, 12], 0.0794, [1.00, 0.312, 0.236]),
    (4, [0, 2, 7], 0.0091, [0.863, 0.272]),
    (16, [0, 4, 6, 10], 0.0077, [1.00, 0.357, 0.113]),
    (25, [0, 5, 7, 11], 0.0069, [1.00, 0.325, 0.108]),
    (36, [0, 6, 8, 12], 0.0063, [1.00, 0.294, 0.093]),
    (19, [0, 4, 5, 7], 0.0750, [1.00, 0.312, 0.233]),
    (49, [0, 5, 6, 7], 0.3050, [1.00, 0.585, 0.309]),
]


@pytest.mark.parametrize(("n", "schedule", "final", "gaps"), PUBLISHED)
def test_distances_of_the_published_schedules(n, schedule, final, gaps):
    assert float(tv_to_uniform(n, schedule[-1])) == pytest.approx(final, abs=5.1e-5)
    assert schedule_distances(n, schedule) == pytest.approx(gaps, abs=5.1e-4)


@pytest.mark.parametrize(
    ("n", "schedule"),
    [
        (9, [0, 3, 5, 9]),
        (25, [0, 5, 7, 11]),
        (100, [0, 8, 10, 15]),
        (10, [0, 3, 5, 10]),
        (12, [0, 4, 10]),
        (20, [0, 5, 10, 11]),
    ],
)
def test_rule_for_any_number_of_objects(n, schedule):
    assert choose_schedule(n) == schedule


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 52, 200])
def test_schedules_increase_and_end_close_to_uniform(n):
    schedule = choose_schedule(n)
    assert schedule[0] == 0 and schedule == sorted(set(schedule))
    assert schedule[-1] == choose_steps(n)
    assert 0.0025 < float(tv_to_uniform(n, schedule[-1])) < 0.01  # halves with every step


def test_rule_refuses_what_makes_no_sense():
    with pytest.raises(ValueError, match="n = 1"):
        choose_steps(1)
    with pytest.raises(ValueError, match="distance"):
        choose_steps(5, distance=0.0)


def test_quoted_cutoffs_of_a_deck_of_52():
    assert riffle_cutoff(52) == pytest.approx(8.6, abs=0.05)
    assert transposition_cutoff(52) == pytest.approx(103, abs=0.5)
    assert insertion_cutoff(52) == pytest.approx(205, abs=0.5)
