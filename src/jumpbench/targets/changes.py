"""How one-site changes move log nu: what Metropolis and Gibbs chains ask of a target.

A target may answer with structure of its own (a method ``changes`` or ``site_log_ratios``); any
other is asked for ``log_prob`` at the changed states.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from jumpbench.ops.checks import require
from jumpbench.targets.base import DiscreteTarget

Delta = Callable[[Tensor, Tensor, Tensor], Tensor]
"""``delta(x, site, token) -> (B,)``: log nu(x with site := token) - log nu(x), one per chain."""

Commit = Callable[[Tensor, Tensor, Tensor], None]
"""Called after each step with (accept (B,) bool, site, token), for caches of a delta."""


BlockStep = Callable[[int, Tensor, Tensor], Tensor]
"""``step(k, x, old) -> (B,)``: the k-th proposal of a block, at x with the symbols ``old`` (B,) at
its sites."""


def has_blocks(delta: Delta) -> bool:
    """Whether a delta has a method ``block``: only its steps look at the old symbols."""
    return hasattr(delta, "block")


def block_of(delta: Delta, sites: Tensor, tokens: Tensor, indices: Tensor) -> BlockStep:
    """Prepares a delta for a block of proposals that are known in advance.

    ``sites``, ``tokens`` and ``indices`` are (K, B); indices are places in the flattened states. A
    delta with a method ``block`` of these arguments does there, once per block, what does not
    depend on the state; any other is called step by step.
    """
    prepare = getattr(delta, "block", None)
    if prepare is not None:
        return prepare(sites, tokens, indices)
    rows = list(zip(sites.unbind(0), tokens.unbind(0), strict=True))
    return lambda k, x, old: delta(x, *rows[k])


class LogProbDelta:
    """``delta`` of a target known only through ``log_prob(x) -> (B,)``, caching the last value.

    Raises ``ValueError`` where it is NaN; -inf is legal, and moves from -inf to -inf are rejected.
    Give ``delta.commit`` to the kernel as ``commit``. One evaluation per step and chain, and one
    at the start. Sites and tokens may be (B,) or (B, k).
    """

    def __init__(self, log_prob: Callable[[Tensor], Tensor], x: Tensor) -> None:
        self.log_prob = log_prob
        self.current = self._evaluated(x)
        self._proposed = self.current

    def __call__(self, x: Tensor, site: Tensor, token: Tensor) -> Tensor:
        shape = (x.shape[0], -1)
        self._proposed = self._evaluated(x.scatter(1, site.view(shape), token.view(shape)))
        return self._proposed - self.current

    def _evaluated(self, x: Tensor) -> Tensor:
        log_prob = self.log_prob(x)
        require(log_prob.isnan().logical_not_(), "log_prob is NaN; return finite values or -inf")
        return log_prob

    def commit(self, accept: Tensor, site: Tensor, token: Tensor) -> None:
        self.current = torch.where(accept, self._proposed, self.current)


def changes_of(target: DiscreteTarget, x: Tensor) -> tuple[Delta, Commit | None]:
    """How proposals change log nu, for a chain that starts at x (B, D): delta, and commit if any.

    The target's own ``target.changes(x)`` if it has one, else :class:`LogProbDelta`.
    """
    own = getattr(target, "changes", None)
    if own is not None:
        return own(x)
    delta = LogProbDelta(target.log_prob, x)
    return delta, delta.commit


class Conditionals:
    """log nu(x^{d<-n}) - log nu(x) at one site per chain, of chains that start at x (B, D).

    The target's own ``site_log_ratios(x, site)`` if it has one. Of any other the value of the
    current states is kept, so that a call evaluates the N - 1 changed ones: half of what is needed
    afresh where there are two symbols. What was drawn must be told (:meth:`commit`).
    """

    def __init__(self, target: DiscreteTarget, x: Tensor) -> None:
        self.target = target
        self.own: Any = getattr(target, "site_log_ratios", None)
        self.current = None if self.own is not None else target.log_prob(x)

    def __call__(self, x: Tensor, site: Tensor) -> Tensor:
        """x (B, D), site (B,) -> (B, N), 0 at the current symbols."""
        if self.current is None:
            return self.own(x, site)
        others = self.target.n_states - 1
        shift = torch.arange(1, others + 1, device=x.device)
        symbols = (at_site(x, site).long()[:, None] + shift) % self.target.n_states
        changed = x.repeat_interleave(others, 0)
        changed.scatter_(
            1, site.repeat_interleave(others)[:, None], symbols.view(-1, 1).to(x.dtype)
        )
        ratios = self.target.log_prob(changed).view(len(x), others) - self.current[:, None]
        zero = ratios.new_zeros(len(x), others + 1)
        return zero.scatter_(1, symbols, ratios)

    def commit(self, ratios: Tensor, symbol: Tensor) -> None:
        """The next states have ``symbol`` (B,) at the sites that ``ratios`` (B, N) belong to."""
        if self.current is not None:
            self.current = self.current + ratios.gather(1, symbol.long()[:, None])[:, 0]


def at_site(x: Tensor, site: Tensor) -> Tensor:
    """x[b, site[b]] of contiguous states (B, D), shape (B,); cheaper than ``gather``."""
    rows = torch.arange(x.shape[0], device=x.device) * x.shape[1]
    return x.view(-1).index_select(0, rows + site)
