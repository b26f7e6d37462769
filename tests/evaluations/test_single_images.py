"""Numbers of single images: their means are the metrics, and a run keeps them."""

import pytest
import torch

from jumpbench.evaluations.binary_images import BinaryImageEvaluation
from jumpbench.evaluations.single_images import SingleImageEvaluation
from jumpbench.metrics.images import psnr
from jumpbench.samplers.draws import Draws
from support import FirstBits


def test_the_numbers_of_single_images_have_the_metrics_for_means():
    generator = torch.Generator().manual_seed(0)
    truth = torch.randint(2, (5, 16), generator=generator)
    path = torch.randint(2, (5, 3, 2, 16), generator=generator)
    samples, misfit = path[:, -1, 0], torch.arange(5.0)
    evaluations = [BinaryImageEvaluation(), SingleImageEvaluation()]
    for evaluation in evaluations:
        for rows in (slice(0, 3), slice(3, 5)):
            extras = {"misfit": misfit[rows], "path": path[rows]}
            kept = evaluation.keep({"states": truth[rows]})
            evaluation.update(Draws(samples[rows], extras=extras), kept)
    plain, single = evaluations
    results = single.results()
    assert results == plain.results()
    each = single.artifacts().pop("by_sample")
    assert each["psnr"] == psnr(samples, truth).tolist() and each["misfit"] == misfit.tolist()
    for name, numbers in each.items():
        assert sum(numbers) / 5 == pytest.approx(results[name])
        assert torch.tensor(numbers).std() == pytest.approx(results[_std(name)], rel=1e-5)
    assert set(each) == {"psnr", "misfit", "psnr@1", "psnr@2", "psnr@3"}
    assert "by_sample" not in plain.artifacts()


def _std(name):
    return name.replace("psnr", "psnr_std") if "@" in name else f"{name}_std"


@pytest.mark.parametrize(("classes", "share"), [([0, 1, 1, 3, 1], 40), ([2] * 5, 0)])
def test_share_of_other_classes_than_the_commonest(classes, share):
    samples = torch.tensor([[k // 2, k % 2, 1, 0] for k in classes])
    evaluations = [make(FirstBits()) for make in (BinaryImageEvaluation, SingleImageEvaluation)]
    for evaluation in evaluations:
        kept = evaluation.keep({"states": samples})
        evaluation.update(Draws(samples), kept)
    plain, single = (evaluation.results() for evaluation in evaluations)
    assert single.pop("other_classes") == pytest.approx(share)
    assert single == plain  # no other number changes
