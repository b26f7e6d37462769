"""Schedules, decoders and steps that a diffuser cannot have."""

from functools import partial

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from jumpbench.data.sorting import SortScalars
from jumpbench.errors import UserError
from jumpbench.methods.symmetric_diffusers.distributions import (
    GeneralisedPlackettLuce,
    InverseInsertion,
    InverseRiffle,
    PlackettLuce,
)
from jumpbench.methods.symmetric_diffusers.losses import LatentLoss, check_possible
from jumpbench.methods.symmetric_diffusers.module import SymmetricDiffuser
from jumpbench.methods.symmetric_diffusers.sampler import (
    inverse_transposition,
)
from jumpbench.networks.object_encoders import (
    ScalarEncoder,
)
from jumpbench.networks.permutation_transformer import (
    PairScores,
    TokenScores,
)
from jumpbench.processes.shuffles import RandomInsertion, Riffle
from list_diffusers import diffuser, trainer


@pytest.mark.parametrize(
    "schedule", [[], [0], [1, 2], [0, 3, 2], [0, 2, 2], [0, 2.5, 7], [0.0, 2], [0, "2"]]
)
def test_bad_schedules(schedule):
    with pytest.raises(UserError, match="give rising times"):
        diffuser(partial(ScalarEncoder, 16), schedule=schedule)


def test_a_method_without_a_decoder_is_refused_before_it_trains():
    with pytest.raises(UserError, match=r"^decoders=\{\}: give one way to draw or more"):
        diffuser(partial(ScalarEncoder, 16), decoders={})


@pytest.mark.parametrize("fixed", [4, 5])
def test_one_object_must_be_free_to_change_places_with_another(fixed):
    module = diffuser(partial(ScalarEncoder, 16), fixed=fixed)
    with pytest.raises(UserError, match=f"fixed={fixed} of 5 objects .* method.fixed to 3 at most"):
        trainer(1).fit(module, datamodule=SortScalars(5, train_batch_size=4))


EXTRA = TokenScores(16, 32, extra=1)
PINNED = PairScores(pin_first=True)


@pytest.mark.parametrize(
    ("family", "head", "shuffle", "schedule", "words"),
    [
        (
            InverseRiffle, TokenScores(16, 32), Riffle, [0, 2, 8],
            r"InverseRiffle gives some steps of the schedule \[0, 2, 8\] of Riffle probability 0: "
            r"take every step \(method.schedule=\$\{every_step:8\}\) of the shuffle that it undoes "
            r"\(method.shuffle\), or reverse=symmetric_diffusers/gpl or pl$",
        ),
        (inverse_transposition, EXTRA, Riffle, [0, 2, 8], "^InverseTransposition .* of Riffle"),
        (inverse_transposition, EXTRA, Riffle, [0, 1, 2, 3], "of the shuffle that it undoes"),
        (InverseInsertion, TokenScores(16, 32), RandomInsertion, [0, 6, 12], "every_step:12"),
        (
            GeneralisedPlackettLuce, PINNED, Riffle, [0, 2, 8],
            r"^GeneralisedPlackettLuce gives .* probability 0: a head that pins the first object "
            r"\(reverse.head.pin_first\) needs method.fixed=1$",
        ),
    ],
)  # fmt: skip
def test_steps_that_the_law_cannot_make_end_the_training_at_once(
    family, head, shuffle, schedule, words
):
    module = diffuser(partial(ScalarEncoder, 16), head, family, shuffle=shuffle, schedule=schedule)
    loop = trainer(3)
    with pytest.raises(UserError, match=words):
        loop.fit(module, datamodule=SortScalars(6, train_batch_size=32))
    assert loop.global_step == 0


@pytest.mark.parametrize(
    ("family", "head", "options"),
    [
        (InverseRiffle, TokenScores(16, 32), {"schedule": [0, 1, 2, 3]}),
        (PlackettLuce, TokenScores(16, 32), {}),
        (GeneralisedPlackettLuce, PINNED, {"fixed": 1}),
        (InverseRiffle, TokenScores(16, 32), {"loss": LatentLoss(2)}),  # of its own draws alone
    ],
)
def test_possible_steps_are_trained_and_only_the_first_loss_of_a_fit_is_read(
    monkeypatch, family, head, options
):
    class Reads(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
            self.count += operation is torch.ops.aten._local_scalar_dense.default
            return operation(*args, **kwargs or {})

    step = SymmetricDiffuser.training_step

    def counted(self, batch, batch_index):
        with Reads() as reads:
            loss = step(self, batch, batch_index)
        counts.append(reads.count)
        return loss

    monkeypatch.setattr(SymmetricDiffuser, "training_step", counted)
    module = diffuser(partial(ScalarEncoder, 16), head, family, **options)
    before = [weight.clone() for weight in module.parameters()]
    for _ in range(2):
        counts = []
        trainer(4).fit(module, datamodule=SortScalars(6, train_batch_size=8))
        first, *others = counts
        assert len(others) == 3 and {first - 1} == set(others)
    assert not any(map(torch.equal, before, module.parameters()))


def test_a_loss_that_is_none_for_another_reason_is_not_called_impossible():
    law = PlackettLuce(torch.full((2, 3), torch.nan, requires_grad=True))
    check_possible(law, torch.tensor([[0, 1, 2], [2, 1, 0]]), Riffle(3), [0, 2, 7])
