"""What a reference run of ``jumpbench compare`` may be used for."""

import pytest

from jumpbench.tables.commands.judgement import Judgement

GOOD = {"rhat": 1.001, "trips": 40.0, "sample_seconds": 0.01, "n_samples": 1000, "swap_rate": 0.3,
        "halves_tv": 0.02}  # fmt: skip


def judged(**metrics):
    return Judgement("reference", 60.0).judged(GOOD | metrics)


def test_a_reference_that_has_converged_is_used():
    used = judged()
    assert used.kind == "reference" and not used.why
    assert "split R-hat 1.0010, 40 round trips a ladder" in used.words


@pytest.mark.parametrize(
    ("metrics", "why"),
    [
        ({"rhat": "inf"}, "split R-hat inf is above"),  # as a metrics.json holds it
        ({"rhat": "nan"}, "split R-hat nan is above"),
        ({"trips": 0.0}, "0 round trips a ladder are fewer than"),
    ],
)
def test_one_that_has_not_is_refused(metrics, why):
    refused = judged(**metrics)
    assert refused.kind == "alone" and why in refused.why and "reference=240" in refused.why
