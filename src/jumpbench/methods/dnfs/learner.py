"""The learner of a flow sampler: roll-outs, their store, and the loss (Algorithm 1).

A plain object: it owns no optimiser and knows no trainer, so it can also run inside the training
of an energy model whose law changes under it.
"""

from collections.abc import Callable
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn

from jumpbench.errors import UserError
from jumpbench.methods.dnfs.estimates import Estimate, control_variate
from jumpbench.methods.dnfs.paths import FlowPaths, simulate_flow, time_grid
from jumpbench.methods.dnfs.store import Store
from jumpbench.samplers.annealed_jumps import Point
from jumpbench.samplers.annealed_path import Slope, control_integrand, flux_of, slope_of
from jumpbench.samplers.cost import Meter, table_evaluations
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.graphs import GraphLaw


class FreeEnergyDerivative(Protocol):
    """F(t) with dF/dt = -d/dt log Z_t, as LEAPS learns it."""

    def derivative(self, t: Tensor) -> Tensor: ...


class Learner:
    """Fits a locally equivariant network to one target, or to a batch of laws at a time.

    Call :meth:`refresh` with the current target, then step an optimiser on :meth:`loss` a number
    of times, and again. A target of several laws (:class:`~jumpbench.targets.graphs.GraphLaw`) has
    an equal share of the chains each, and its own d/dt log Z_t; stored laws stay with their states.

    Args:
        network: locally equivariant, states and times (and graphs) to (B, D, N).
        n_steps: K.
        chains: M, trajectories of a roll-out.
        stored: roll-outs kept.
        batch_size: pairs (t_k, x) per loss.
        clamp: upper bound of neighbour log-ratios in the loss and in the estimate.
        estimate: of d/dt log Z_t, from the newest roll-out.
        free_energy: learns d/dt log Z_t jointly instead (the loss of LEAPS).
        keep_slopes: see :class:`Store`.

    Raises:
        UserError: counts below one.
    """

    def __init__(
        self,
        network: nn.Module,
        n_steps: int = 64,
        chains: int = 256,
        stored: int = 4,
        batch_size: int = 128,
        clamp: float | None = 5.0,
        estimate: Estimate = control_variate,
        free_energy: FreeEnergyDerivative | None = None,
        keep_slopes: bool = False,
    ) -> None:
        if min(n_steps, chains, stored, batch_size) < 1:
            raise UserError(
                "n_steps, chains, stored and batch_size must be at least 1, not "
                f"{n_steps}, {chains}, {stored} and {batch_size}"
            )
        self.network, self.free_energy = network, free_energy
        self.n_steps, self.chains, self.batch_size = n_steps, chains, batch_size
        self.clamp, self.estimate = clamp, estimate
        self.store = Store(stored, keep_slopes)
        self.meter = Meter()
        self._laws: list[Any] = []
        self.target: DiscreteTarget | None = None
        self.laws = 1  # of the last roll-out

    def refresh(
        self,
        target: DiscreteTarget,
        generator: torch.Generator,
        reduce: Callable[[Tensor], Tensor] = lambda estimate: estimate,
    ) -> FlowPaths:
        """Simulate, estimate d/dt log Z_t with the parameters that simulated, and store.

        ``reduce`` averages the estimate over processes.
        """
        several = cast(GraphLaw, target) if hasattr(target, "rows") else None
        laws = len(several) if several is not None and len(several) > 1 else 0
        self.laws = laws or 1
        if laws and self.chains % laws:
            raise UserError(f"{self.chains} chains cannot be shared out over {laws} laws")
        device = generator.device
        each = target
        if several is not None and laws:
            each = several.rows(self._law_of(torch.arange(self.chains, device=device), laws))
        points: list[Slope] = []

        def keep(point: Point) -> None:
            points.append(point.slope)

        paths = simulate_flow(
            self.network, each, time_grid(self.n_steps, device), self.chains, generator,
            self.clamp, keep_path=True, hook=keep if self.store.keep_slopes else None,
        )  # fmt: skip
        shape = (self.n_steps + 1, self.laws, -1)
        derivative = self.estimate(paths.slopes.view(shape), paths.integrands.view(shape))
        self.store.add(paths.states, reduce(derivative), points or None)
        self.meter.add(paths.cost, self.chains)
        self._remember(target, laws)
        return paths

    def loss(self, generator: torch.Generator) -> Tensor:
        """Mean of (xi_theta - d/dt log Z_t)^2 over stored pairs.

        Residuals that are not a number count as 0, infinite ones as 1.
        """
        slot, point, chain = self.store.draw(self.batch_size, generator)
        x = self.store.tensors["states"][slot, point, chain].long()
        t = point / self.n_steps
        assert self.target is not None, "refresh comes first"
        target, derivative = self.target, self.store.tensors["derivative"]
        if self._laws:
            law = self._law_of(chain, derivative.shape[-1])
            wanted = derivative[slot, point, law]
            target = cast(GraphLaw, target).rows(slot * derivative.shape[-1] + law)
        else:  # one law: all entries by the newest estimate
            wanted = derivative[self.store.newest, point, 0]
        flux = flux_of(self.network, target, x, t)
        slope = self.store.slope(slot, point, chain)
        if slope is None:
            slope = slope_of(target, x)
            # Of all stored laws on average, as several laws have.
            self.meter.count("energy", x, evaluations=table_evaluations(self.target))
        self.meter.network += len(x)
        xi = control_integrand(slope, t, flux, self.clamp)
        if self.free_energy is not None:
            wanted = -self.free_energy.derivative(t)
        residual = torch.nan_to_num(xi - wanted, nan=0.0, posinf=1.0, neginf=-1.0)
        return residual.square().mean()

    def _law_of(self, chain: Tensor, laws: int) -> Tensor:
        return chain // (self.chains // laws)

    def _remember(self, target: DiscreteTarget, laws: int) -> None:
        """Keep the laws that stored states belong to, in the order of their slots."""
        if not laws:
            self.target = target
            return
        if len(self._laws) < self.store.slots:
            self._laws.append(target)
        else:
            self._laws[self.store.newest] = target
        self.target = self._laws[0].joined(self._laws[1:])

    def plain(self) -> dict[str, Any]:
        """Store, laws and counts, as tensors and plain values."""
        return {
            "store": self.store.plain(),
            "laws": [law.plain() for law in self._laws],
            "spent": {"network": self.meter.network, "energy": self.meter.energy},
        }

    def restore(self, plain: dict[str, Any], target: DiscreteTarget, device: torch.device) -> None:
        """Continue from :meth:`plain`; ``target`` is the single law, or the kind of the laws."""
        self.store.restore(plain["store"], device)
        self.meter.network = int(plain["spent"]["network"])
        self.meter.energy = int(plain["spent"]["energy"])
        self._laws = [cast(GraphLaw, target).restored(law).to(device) for law in plain["laws"]]
        self.target = target
        if self._laws:
            self.target = self._laws[0].joined(self._laws[1:])
