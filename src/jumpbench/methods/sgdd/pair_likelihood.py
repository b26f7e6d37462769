"""Measurements of pairs of sites, such as XOR and AND, with changes that cost only those pairs."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from jumpbench.methods.sgdd.likelihoods import Likelihood, check_sigma
from jumpbench.targets.changes import BlockStep, Commit, Delta, at_site

Operator = Callable[[Tensor, Tensor], Tensor]

_NO_PAIR = 255  # an observation that no prediction equals, in the padding of the tables


def exclusive_or(a: Tensor, b: Tensor) -> Tensor:
    return a ^ b


def both(a: Tensor, b: Tensor) -> Tensor:
    return a & b


def random_pairs(length: int, share: float, seed: int = 0) -> Tensor:
    """(2, p) with p = ``share`` D pairs, both ends uniform over the sites and independent.

    Drawn in one call after ``seed``, as in the paper's code: pairs may repeat, or meet themselves.
    """
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(length, (2, int(share * length)), generator=generator)


@dataclass(frozen=True)
class Incidence:
    """The pairs of every site, at most K each, made on the CPU: their number decides shapes.

    Attributes:
        partner: other ends (D, K), padded with the site 0.
        number: of the pairs (D, K), padded with -1.
        itself: where a site is its own partner (D, K); None where no pair meets itself.
    """

    partner: Tensor
    number: Tensor
    itself: Tensor | None

    @classmethod
    def of(cls, pairs: Tensor, length: int) -> "Incidence":
        a, b = pairs.cpu()
        numbers = torch.arange(len(a))
        proper = a != b
        site = torch.cat([a, b[proper]])
        order = site.argsort(stable=True)
        site = site[order]
        count = torch.bincount(site, minlength=length)
        place = torch.arange(len(site)) - (count.cumsum(0) - count)[site]
        shape = (length, max(1, int(count.max())))
        partner, number = torch.zeros(shape, dtype=torch.long), torch.full(shape, -1)
        partner[site, place] = torch.cat([b, a[proper]])[order]
        number[site, place] = torch.cat([numbers, numbers[proper]])[order]
        # The padding of site 0 is among them: it counts as nothing either way.
        itself = None if proper.all() else partner == torch.arange(length)[:, None]
        return cls(partner, number, itself)

    def to(self, device: torch.device) -> "Incidence":
        itself = None if self.itself is None else self.itself.to(device)
        return Incidence(self.partner.to(device), self.number.to(device), itself)


class PairLikelihood(Likelihood):
    """log p(y|x) = -(number of pairs (i, j) with op(x_i, x_j) != y_ij) / sigma.

    A proposal at site i changes only the pairs that touch i: its cost is the greatest number of
    pairs that one site has, not the number of pairs.

    Args:
        pairs: sites (2, p).
        observed: y, (p,) for all chains or (B, p) with one measurement for each chain; 0..254.
        operator: elementwise and symmetric, integers to integers, as :func:`exclusive_or`
            and :func:`both`.
        sigma: noise scale, one over the nats of a mismatch.
        length: D.
        incidence: of the pairs, where it is known; the same for all observations.

    Raises:
        ValueError: shapes that do not fit; an operator that is not symmetric; sigma not positive.
    """

    def __init__(
        self, pairs: Tensor, observed: Tensor, operator: Operator, sigma: float, length: int,
        incidence: Incidence | None = None,
    ) -> None:  # fmt: skip
        check_sigma(sigma)
        if pairs.ndim != 2 or len(pairs) != 2 or observed.shape[-1] != pairs.shape[1]:
            raise ValueError(
                f"pairs are (2, p) and observed (p,) or (chains, p), not {tuple(pairs.shape)} and "
                f"{tuple(observed.shape)}"
            )
        bits = torch.tensor([0, 1])
        if not torch.equal(operator(bits[:, None], bits), operator(bits, bits[:, None])):
            raise ValueError("the operator of a pair likelihood must be symmetric")
        self.pairs, self.operator, self.sigma, self.length = pairs.long(), operator, sigma, length
        self.n_observations = len(observed) if observed.ndim == 2 else None
        self.observed = observed.to(torch.uint8)
        self._incidence = incidence or Incidence.of(self.pairs, length)
        self._tables: tuple[Tensor, Tensor, Tensor | None] | None = None

    def evaluate(self, x: Tensor, rows: Tensor | None) -> Tensor:
        self._to(x.device)
        observed = self.observed if rows is None else self.observed[rows]
        predicted = self.operator(x[:, self.pairs[0]], x[:, self.pairs[1]])
        return (predicted != observed).sum(-1).double() / -self.sigma

    def changes(self, x: Tensor) -> tuple[Delta, Commit | None]:
        """Exactly the differences of :meth:`evaluate`, in float32, without a cache."""
        self.check_chains(len(x))
        self._to(x.device)
        return _PairDelta(self, *self._by_site(), len(x)), None

    def _to(self, device: torch.device) -> None:
        """Pairs and observations may come from different devices."""
        if self.observed.device != device or self.pairs.device != device:
            self.pairs, self.observed = self.pairs.to(device), self.observed.to(device)
            self._tables = None

    def _by_site(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Per site: partners (D, K), their observations ([B] D, K), which are the site itself.

        The padding has an observation that nothing equals, which cancels.
        """
        if self._tables is None:
            near = self._incidence.to(self.observed.device)
            seen = self.observed[..., near.number.clamp(min=0)]
            seen = seen.masked_fill(near.number < 0, _NO_PAIR)
            self._tables = near.partner, seen.view(-1, seen.shape[-1]), near.itself
        return self._tables


class _PairDelta:
    """``delta`` of a pair likelihood, from its tables by site (:meth:`PairLikelihood._by_site`).

    Of a block of proposals everything is looked up at once but the states of the partners.
    """

    def __init__(
        self,
        likelihood: PairLikelihood,
        partner: Tensor,
        wanted: Tensor,
        itself: Tensor | None,
        n_chains: int,
    ) -> None:
        self.operator, self.scale = likelihood.operator, 1 / likelihood.sigma
        self.partner, self.wanted, self.itself = partner, wanted, itself
        self.first = torch.arange(n_chains, device=partner.device) * likelihood.length
        self.own_observations = likelihood.n_observations is not None

    def __call__(self, x: Tensor, site: Tensor, token: Tensor) -> Tensor:
        step = self.block(site[None], token[None], (site + self.first)[None])
        return step(0, x, at_site(x, site))

    def block(self, sites: Tensor, tokens: Tensor, indices: Tensor) -> BlockStep:
        shape = (*sites.shape, -1)
        flat, rows = sites.flatten(), (indices if self.own_observations else sites).flatten()
        partners = self.partner.index_select(0, flat).view(shape) + self.first[:, None]
        cells = partners.unbind(0)
        wanted = self.wanted.index_select(0, rows).view(shape).unbind(0)
        itself = None
        if self.itself is not None:
            itself = self.itself.index_select(0, flat).view(shape).unbind(0)
        entered, operator, scale = tokens[..., None].unbind(0), self.operator, self.scale

        def step(k: int, x: Tensor, old: Tensor) -> Tensor:
            seen, new = wanted[k], entered[k]
            others = x.take(cells[k])
            before = operator(old[:, None], others) != seen
            if itself is not None:
                # Of a pair of a site with itself, both ends change.
                others = torch.where(itself[k], new, others)
            after = operator(new, others) != seen
            mended = before.view(torch.int8) - after.view(torch.int8)
            return mended.sum(-1, dtype=torch.float32) * scale

        return step
