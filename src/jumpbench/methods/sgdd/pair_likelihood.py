"""Measurements of pairs of sites, such as XOR and AND, with changes that cost only those pairs."""

from collections.abc import Callable

import torch
from torch import Tensor

from jumpbench.methods.sgdd.likelihoods import Commit, Delta, Likelihood

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

    Raises:
        ValueError: shapes that do not fit; an operator that is not symmetric; sigma not positive.
    """

    def __init__(
        self, pairs: Tensor, observed: Tensor, operator: Operator, sigma: float, length: int
    ) -> None:
        if not sigma > 0:
            raise ValueError(f"sigma is {sigma}; a likelihood needs sigma > 0")
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
        self._tables: tuple[Tensor, Tensor, Tensor, Tensor] | None = None

    def evaluate(self, x: Tensor, rows: Tensor | None) -> Tensor:
        self._to(x.device)
        observed = self.observed if rows is None else self.observed[rows]
        predicted = self.operator(x[:, self.pairs[0]], x[:, self.pairs[1]])
        return (predicted != observed).sum(-1).double() / -self.sigma

    def changes(self, x: Tensor) -> tuple[Delta, Commit | None]:
        """Exactly the differences of :meth:`evaluate`, in float32, without a cache."""
        self.check_chains(len(x))
        self._to(x.device)
        partner, wanted, selves, wanted_selves = self._incidence()
        first = torch.arange(len(x), device=x.device)[:, None] * self.length
        start = first.squeeze(1) if self.n_observations is not None else None
        operator, scale = self.operator, 1 / self.sigma

        def delta(x: Tensor, site: Tensor, token: Tensor) -> Tensor:
            row = site if start is None else site + start
            states = x.view(-1)
            here = states.index_select(0, first.squeeze(1) + site)[:, None]
            cells = partner.index_select(0, site).add_(first)
            others = states.index_select(0, cells.view(-1)).view(cells.shape)
            seen = wanted.index_select(0, row)
            new = token[:, None]
            gain = (operator(here, others) != seen).sum(-1)
            gain -= (operator(new, others) != seen).sum(-1)
            if selves is not None:
                # Pairs of a site with itself: both ends change.
                seen = wanted_selves.index_select(0, row)
                gain += (operator(here, here) != seen).sum(-1)
                gain -= (operator(new, new) != seen).sum(-1)
            return gain * scale

        return delta, None

    def _to(self, device: torch.device) -> None:
        if self.observed.device != device:
            self.pairs, self.observed = self.pairs.to(device), self.observed.to(device)
            self._tables = None

    def _incidence(self) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        """Per site: partners (D, K), their observations ([B] D, K); the same of self pairs.

        Padded with the site 0 and an observation that nothing equals, which cancels.
        """
        if self._tables is None:
            a, b = self.pairs
            numbers = torch.arange(len(a), device=a.device)
            proper, itself = numbers[a != b], numbers[a == b]
            partner, number = self._by_site(
                torch.cat([a[proper], b[proper]]),
                torch.cat([b[proper], a[proper]]),
                proper.repeat(2),
            )
            selves = own = None
            if len(itself):
                selves, numbers_of_selves = self._by_site(a[itself], a[itself], itself)
                own = self._observed_at(numbers_of_selves)
            self._tables = partner, self._observed_at(number), selves, own
        return self._tables

    def _by_site(self, site: Tensor, other: Tensor, number: Tensor) -> tuple[Tensor, Tensor]:
        """Lists of (other end, pair number) by site as tables (D, K); -1 where a list has ended."""
        order = site.argsort(stable=True)
        site, other, number = site[order], other[order], number[order]
        count = torch.bincount(site, minlength=self.length)
        place = torch.arange(len(site), device=site.device) - (count.cumsum(0) - count)[site]
        shape = (self.length, max(1, int(count.max())))
        partners = torch.zeros(shape, dtype=torch.long, device=site.device)
        numbers = torch.full(shape, -1, device=site.device)
        partners[site, place], numbers[site, place] = other, number
        return partners, numbers

    def _observed_at(self, numbers: Tensor) -> Tensor:
        """Observations of pair ``numbers`` (D, K), as rows ([B] D, K)."""
        seen = self.observed[..., numbers.clamp(min=0)].masked_fill(numbers < 0, _NO_PAIR)
        return seen.view(-1, numbers.shape[1])
