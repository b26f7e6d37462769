"""A classifier learns what can be told apart, and answers the most probable class."""

from functools import partial

import torch
from lightning import LightningDataModule, Trainer
from torch.utils.data import DataLoader

from jumpbench.data.batches import numbered_loader
from jumpbench.evaluations.labels import LabelEvaluation
from jumpbench.methods.common.classification import Classification


class Thirds(LightningDataModule):
    """Points on a line; the class is the third of the line in which a point lies."""

    @staticmethod
    def batch(number):
        generator = torch.Generator().manual_seed(number)
        points = torch.rand(200, 1, generator=generator)
        return {"points": points, "labels": (3 * points[:, 0]).long()}

    def train_dataloader(self):
        return DataLoader(range(200), batch_size=None, collate_fn=self.batch)

    def test_dataloader(self):
        return numbered_loader(lambda i: self.batch(1000 + i), 2, self.trainer)


def test_it_learns_and_is_judged_in_percent():
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3))
    method = Classification(
        inputs="points", network=network, optimizer=partial(torch.optim.Adam, lr=0.02),
        evaluation=LabelEvaluation(),
    )  # fmt: skip
    settings = {"accelerator": "cpu", "logger": False, "enable_checkpointing": False}
    trainer = Trainer(max_steps=200, enable_progress_bar=False, **settings)
    trainer.fit(method, datamodule=Thirds())
    trainer.test(method, datamodule=Thirds(), verbose=False)
    assert 95 < method.results["accuracy"] <= 100
    assert method.results["n_samples"] == 400
    weights = method.artifacts["network"]
    assert torch.equal(weights["2.bias"], network[2].bias.detach())


def test_the_answer_is_the_most_probable_class():
    logits = torch.tensor([[0.0, 2.0, 1.0], [3.0, -1.0, 2.9]])
    method = Classification(inputs="x", network=torch.nn.Identity(), optimizer=torch.optim.Adam)
    draws = method.draw({"x": logits}, torch.Generator())
    assert draws.samples.tolist() == [1, 0]
    evaluation = LabelEvaluation()
    evaluation.update(draws, {"labels": torch.tensor([1, 2])})
    assert evaluation.results() == {"accuracy": 50.0}
