"""Which of its comparisons a claim that holds names."""


def test_the_tightest_of_exact_comparisons_is_the_one_nearest_to_its_bound(decide):
    left = {"row": "fair", "column": "small n", "metric": "mean"}
    order = [{"left": left, "op": "<", "right": bound} for bound in (0.9, 0.52, 0.7)]
    check = {"all": [{"compare": one} for one in order]}
    values = {("fair", "small n"): (0.5, 0.0), ("biased", "small n"): (0.6, 0.0)}
    holds, detail = decide(check, values)
    assert holds is True and "3 comparisons; tightest" in detail and "< 0.52" in detail
