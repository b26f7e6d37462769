"""One fixed permutation of the integers 0..n-1 to be learned: a delta distribution on S_n."""

import torch

from jumpbench.data.lists import Batch, ListData, shuffles
from jumpbench.seeding import make_generator


class FixedPermutation(ListData):
    """Lists of the integers in random order; ordered, they are always the same permutation.

    ``objects`` are long (B, n). The permutation is the identity, or (``arbitrary``) one that is
    drawn uniformly by ``permutation_seed`` and is the same for every run and method.
    """

    def __init__(
        self,
        length: int,
        arbitrary: bool = True,
        permutation_seed: int = 0,
        train_batch_size: int = 512,
        n_samples: int = 2560,
        batch_size: int = 512,
        seed: int = 0,
    ) -> None:
        super().__init__(length, train_batch_size, n_samples, batch_size, seed=seed)
        generator = make_generator(permutation_seed, "permutation", length)
        fixed = torch.randperm(length, generator=generator)
        self.permutation = fixed if arbitrary else torch.arange(length)

    def draw(self, split: str, size: int, generator: torch.Generator, first: int) -> Batch:
        objects = shuffles(size, self.length, generator)
        # objects[order] = permutation: the place of each wanted integer in the list
        order = objects.argsort(-1)[:, self.permutation]
        return {"objects": objects, "order": order, "groups": objects}
