"""What every method shares: randomness, the cost of training, and the one test stage."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import torch
from lightning import LightningModule
from torch import nn

from jumpbench.data.batches import batch_number, count_batches
from jumpbench.errors import UserError
from jumpbench.evaluations.base import Evaluation
from jumpbench.methods.common.judged import Judged
from jumpbench.methods.common.processes import gather
from jumpbench.methods.common.shards import Shard, Shards
from jumpbench.samplers.cost import Cost, Meter
from jumpbench.samplers.draws import Draws
from jumpbench.seeding import derive_seed, make_generator
from jumpbench.stopwatch import Stopwatch

Module = TypeVar("Module", bound=nn.Module)
Builder = Callable[..., nn.Module]
"""Takes sizes, often ``length`` and ``n_states``: such as a partial of a network class."""


class Method(LightningModule, ABC):
    """Base of all methods, trained or not.

    A run calls ``Trainer.fit`` and/or ``Trainer.test`` (its ``stages``). A subclass says how it is
    trained as any LightningModule does, and how it samples in :meth:`draw`. It has no other part in
    the test stage: batch number i draws from its own generator and becomes a shard on disk; one
    that is there is not drawn again; numbers are spread over devices; then the evaluation reads
    all shards in order. So the results depend neither on the number of devices nor on stops.

    Afterwards ``results`` (numbers by name, float64) and ``artifacts`` (tensors and plain values;
    saved as ``samples.pt``, readable weights-only) are filled in on the first process.

    Args:
        seed: of all generators.
        evaluation: judges the draws; None only counts them.
    """

    unused_parameters = False
    """Whether a training step may leave parameters without a gradient: on several devices gradients
    are then exchanged in the form that looks for them."""

    keep_samples = True
    """Whether the artifacts hold the samples and their log-weights."""

    def __init__(self, seed: int = 0, evaluation: Evaluation | None = None) -> None:
        super().__init__()
        self.evaluation = evaluation
        self.seed = seed
        self.shards = Shards()
        self.budget: dict[str, float] = {}  # of the run, for methods without a training to end
        self._count = 1  # of test batches
        self.results: dict[str, float] = {}
        self.artifacts: dict[str, Any] = {}
        self.meter = Meter()
        self._generators: dict[str, torch.Generator] = {}
        self._generator_states: dict[str, torch.Tensor] = {}
        self._default_states: dict[str, torch.Tensor] = {}
        self._begun_on = 0  # processes of the checkpoint that was loaded

    # What a subclass fills in

    @abstractmethod
    def draw(self, batch: Any, generator: torch.Generator) -> Draws | Mapping[str, Draws]:
        """The samples of one test batch.

        A mapping holds several ways to sample (decoders): their metrics are named ``METRIC@WAY``,
        and those of the first way also ``METRIC``.
        """

    def further_results(self) -> dict[str, float]:
        """Numbers that are not about draws, such as those measured during training."""
        return {}

    def further_artifacts(self) -> dict[str, Any]:
        return {}

    # Randomness

    def build(self, builder: Callable[..., Module], name: str, **sizes: int) -> Module:
        """A network with initial weights that depend on the seed and the name alone."""
        with torch.random.fork_rng():
            torch.manual_seed(derive_seed(self.seed, name))
            return builder(**sizes)

    def generator(self, name: str) -> torch.Generator:
        """The run's generator for one component of training, on the module's device.

        Its state is part of the checkpoint, so a resumed run draws what the uninterrupted one
        would have drawn. Processes of a distributed run draw from different streams.

        Raises:
            UserError: the run was begun on another kind of device, whose states mean nothing here.
        """
        key = f"{name}/{self.global_rank}" if self._trainer is not None else f"{name}/0"
        if key not in self._generators:
            generator = make_generator(self.seed, key, device=self.device)
            if key in self._generator_states:
                state = self._generator_states.pop(key)
                if len(state) != len(generator.get_state()):
                    begun = "cpu" if self.device.type == "cuda" else "gpu"
                    raise UserError(
                        f"this run was begun on a {begun}, and its random numbers go on there "
                        f"alone: set trainer.accelerator={begun}, or remove its folder"
                    )
                generator.set_state(state)
            self._generators[key] = generator
        return self._generators[key]

    def test_generator(self, number: int) -> torch.Generator:
        """The generator of test batch ``number``, the same on every process.

        Common random numbers: runs of one seed whose methods are of one class draw the same ones.
        So methods are compared in pairs of runs of one seed, which is right whatever they share
        (:mod:`jumpbench.tables.judging.comparisons`).
        """
        return make_generator(self.seed, "test", type(self).__name__, number, device=self.device)

    # Training

    def share(self, count: int, what: str) -> int:
        """This process's part of a global count.

        Raises:
            UserError: the devices do not divide it.
        """
        world = self.trainer.world_size
        if count % world:
            raise UserError(
                f"{what}={count} cannot be shared by {world} devices; choose trainer.devices so "
                "that it divides"
            )
        return count // world

    @property
    def spent(self) -> Cost:
        """Network and energy evaluations of training so far, in states, over all processes."""
        network, energy = self.meter.network * self._world, self.meter.energy * self._world
        return Cost(float(network), float(energy))

    def on_train_start(self) -> None:
        if self._begun_on not in (0, self._world):
            raise UserError(
                f"this training was begun on {self._begun_on} devices, and its states belong to "
                "them: set trainer.devices (times trainer.num_nodes) to that, or fresh=true"
            )
        # Dropout draws from torch's default generators; a resumed run continues their streams.
        states, self._default_states = self._default_states, {}
        if "cpu" in states:
            torch.set_rng_state(states["cpu"].cpu())
        if "cuda" in states and self.device.type == "cuda":
            torch.cuda.set_rng_state(states["cuda"].cpu(), self.device)
        self.shards.clear()

    def own_state(self) -> dict[str, Any]:
        """What this process of a distributed run has for itself, part of every checkpoint.

        Weights, and what Lightning keeps, are the same everywhere and do not belong here.
        """
        default = {"cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            default["cuda"] = torch.cuda.get_rng_state(self.device)
        states = {key: generator.get_state() for key, generator in self._generators.items()}
        return {
            "generators": {**self._generator_states, **states},
            "default_generators": default,
            "spent": {"network": self.meter.network, "energy": self.meter.energy},
        }

    def restore_own(self, state: dict[str, Any]) -> None:
        """Continue from :meth:`own_state`; called before weights are loaded."""
        self._generators.clear()
        self._generator_states = dict(state["generators"])
        self._default_states = dict(state["default_generators"])
        self.meter.network = int(state["spent"]["network"])
        self.meter.energy = int(state["spent"]["energy"])

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        own = self.own_state()
        if self._trainer is not None and self.trainer.world_size > 1:
            checkpoint["other_processes"] = gather(own)[1:]
        checkpoint.update(own)

    @property
    def _world(self) -> int:
        return self.trainer.world_size if self._trainer is not None else 1

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        others = checkpoint.get("other_processes", [])
        rank = self.global_rank if self._trainer is not None else 0
        # A process that was not there before has what the first one had: a finished training may
        # be tested on other devices, and each has its part of what was spent.
        self.restore_own(others[rank - 1] if 0 < rank <= len(others) else checkpoint)
        self._begun_on = 1 + len(others)
        self.meter.network = self.meter.network * self._begun_on // self._world
        self.meter.energy = self.meter.energy * self._begun_on // self._world

    # Testing

    def on_test_epoch_start(self) -> None:
        self._count = count_batches(self.trainer)
        if self.trainer.world_size > 1 and self.shards.folder is None:
            raise UserError(
                "testing on several devices needs a folder for the draws: set "
                "method.shards = Shards(folder), or test on one device"
            )

    def test_step(self, batch: Any, batch_index: int) -> None:
        number = batch_number(self.trainer, batch_index)
        if number in self.shards:
            return
        watch = Stopwatch(self.device)
        drawn = self.draw(batch, self.test_generator(number))
        draws = {"": drawn} if isinstance(drawn, Draws) else dict(drawn)
        seconds = watch.finished() / len(draws)
        reference = self.evaluation.keep(batch) if self.evaluation is not None else {}
        reference = {name: value.detach().cpu() for name, value in reference.items()}
        timed = {name: d if d.cost.seconds else d.timed(seconds) for name, d in draws.items()}
        self.shards.write(number, Shard(timed, reference))

    def on_test_epoch_end(self) -> None:
        self.trainer.strategy.barrier()
        if self.trainer.is_global_zero:
            self.judge(self._count)

    def judge(self, count: int) -> None:
        """Turn the shards 0 .. count - 1 into ``results`` and ``artifacts``."""
        judged: dict[str, Judged] = {}
        for shard in self.shards.read(count):
            for way, draws in shard.draws.items():
                if way not in judged:
                    judged[way] = Judged(self.evaluation, self.keep_samples)
                judged[way].update(draws, shard.reference)
        first = next(iter(judged.values()))
        self.results = first.results()
        if list(judged) != [""]:
            for way, part in judged.items():
                self.results |= {f"{name}@{way}": value for name, value in part.results().items()}
        self.results |= {name: float(v) for name, v in self.further_results().items()}
        self.artifacts = first.artifacts() | self.further_artifacts()
