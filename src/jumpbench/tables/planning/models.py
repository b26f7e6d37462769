"""Trained models to draw from: a card beside weights in half precision, verified before loading.

``models/PAPER/NAME.yaml`` is the card: what the model is, what trained it (code, steps, seconds,
data and their licence), the checksum of ``NAME.safetensors``, the configuration of the method and
of the data that it is tested on, and what that test measured: mean and deviation over several sets
of draws. ``JUMPBENCH_MODELS`` names a further folder, or an address that holds the same files.

A run may start from a model in place of a run that it needs: ``+needs.prior.model=sgdd/mnist-32``.
Its configuration then says ``model:NAME@CHECKSUM``, which is part of its identity.
"""

import functools
import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from jumpbench.errors import DataCorrupt, UserError
from jumpbench.names import no_such
from jumpbench.paths import checkout, existing_folder
from jumpbench.tables.planning.fetched_models import VARIABLE, fetched_card

if TYPE_CHECKING:
    from jumpbench.methods.common.base import Method

PREFIX = "model:"
_FIELDS = ("title", "trained", "licence", "sha256", "method", "data", "expected")


@dataclass(frozen=True)
class Model:
    """A trained model.

    Attributes:
        name: ``PAPER/NAME``.
        card: everything that is known of it, see the module.
        weights: the file that holds them.
    """

    name: str
    card: dict[str, Any] = field(repr=False)
    weights: Path

    @functools.cached_property
    def method(self) -> "Method":
        """The method with its weights, in float32 on the CPU, ready to sample.

        Raises:
            DataCorrupt: the weights are not those of the card.
            UserError: they do not fit the method, or the card names what none may call.
        """
        from jumpbench.artifacts import read_weights

        method = self.untrained()
        load_into(method, read_weights(self.verified()), self.weights)
        return method.eval()

    def verified(self) -> Path:
        """The file of the weights.

        Raises:
            DataCorrupt: they are not those of the card.
        """
        digest = hashlib.sha256(self.weights.read_bytes()).hexdigest()
        if digest != self.card["sha256"]:
            why = f"its checksum is {digest}, not that of its card"
            raise DataCorrupt(f"{self.weights}: {why}; fetch it again")
        return self.weights

    def untrained(self) -> "Method":
        from jumpbench.methods.common.base import Method
        from jumpbench.tables.planning.gate import construct

        method = construct(self.card["method"], "method")
        if not isinstance(method, Method):
            raise UserError(f"the card of {self.name} describes no method")
        return method

    def measure(self, seed: int) -> dict[str, float]:
        """What the test of the card measures with draws of this seed."""
        from jumpbench.methods.common.silent import silent_trainer
        from jumpbench.tables.planning.gate import construct

        self.method.seed = seed
        with silent_trainer() as trainer:
            trainer.test(self.method, construct(self.card["data"], "data"), verbose=False)
        return dict(self.method.results)


def load_into(method: "Method", weights: dict[str, Any], place: str | Path) -> None:
    """Weights into a method; of a network beside its average, the average is in both.

    Raises:
        UserError: others are missing or there are too many.
    """
    full = dict(weights)
    for name, value in weights.items():
        full.setdefault(name.replace(".average.network.", ".network."), value)
    try:
        missing, unknown = method.load_state_dict(full, strict=False)
    except RuntimeError as error:
        raise UserError(f"{place}: {str(error).splitlines()[-1].strip()}") from None
    lacking = [name for name in missing if not is_left_out(name)]
    if lacking or unknown:
        raise UserError(
            f"{place} does not fit its method: {(lacking + unknown)[0]}; export it again"
        )


def is_left_out(name: str) -> bool:
    """Of a state dict: what only further training needs."""
    return ".buffer." in name or name.endswith("_extra_state")


def models() -> dict[str, Path]:
    """The cards that lie on this machine, by name: those of ``JUMPBENCH_MODELS`` first."""
    folders = [root for root in (_own_folder(), suite_folder()) if root is not None]
    cards = {
        f"{card.parent.name}/{card.stem}": card
        for folder in reversed(folders)
        for card in sorted(folder.glob("*/*.yaml"))
    }
    return dict(sorted(cards.items()))


def load_model(name: str) -> Model:
    """A trained model by name: ``load_model("sgdd/mnist-32").method`` is ready to sample.

    Raises:
        UserError: there is no such model, or its card lacks something.
        DataMissing: it is not at the address.
    """
    known = models()
    card = known.get(name) or fetched_card(name)
    if card is None:
        raise no_such("model", name, known)
    content = yaml.safe_load(card.read_text(encoding="utf-8"))
    lacking = [key for key in _FIELDS if not isinstance(content, dict) or key not in content]
    if lacking:
        raise UserError(f"{card} is no card of a model: it lacks {', '.join(lacking)}")
    return Model(name, content, card.with_suffix(".safetensors"))


def is_model(value: str) -> bool:
    """Whether a value under ``needs`` of a planned run is a model, not a run."""
    return value.startswith(PREFIX)


def model_reference(name: str) -> str:
    """How a configuration names a model that a run starts from: ``model:NAME@CHECKSUM``.

    Raises:
        UserError: there is no such model.
        DataMissing: it is not at the address.
    """
    return f"{PREFIX}{name}@{load_model(name).card['sha256'][:16]}"


def weights_of(value: str) -> str:
    """The file of the weights that :func:`model_reference` named.

    Raises:
        UserError: there is no such model any more, or it is another one.
        DataCorrupt: the weights are not those of the card.
    """
    name, _, checksum = value.removeprefix(PREFIX).rpartition("@")
    if model_reference(name) != value:
        raise UserError(f"the model {name} is not {checksum} any more: call again")
    return str(load_model(name).verified())


def suite_folder() -> Path | None:
    return None if (root := checkout()) is None else root / "models"


def _own_folder() -> Path | None:
    own = os.environ.get(VARIABLE, "")
    if not own or "://" in own:
        return None
    return existing_folder(VARIABLE, own)
