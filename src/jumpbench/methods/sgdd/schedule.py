"""Annealing of split Gibbs: at which times t_k it runs, and how strongly x and z are tied there.

The noise level of iteration k is eta_k = sigma(t_k); both schedules are uniform in t.
"""

import math
from collections.abc import Callable

from jumpbench.processes.schedules import Geometric

CODE_EPS = 1e-5


def paper_times(n_iterations: int) -> list[float]:
    """t_k = 1 - k/K, k = 0..K-1: eta_k = eta_min^(k/K) eta_max^(1-k/K), never eta_min itself."""
    return [1 - k / n_iterations for k in range(n_iterations)]


def endpoint_times(n_iterations: int) -> list[float]:
    """t_k = 1 - (1-1e-5)^2 k/(K-1): from eta_max down to (almost) eta_min (released code)."""
    if n_iterations == 1:
        return [1.0]
    return [1 - (1 - CODE_EPS) ** 2 * k / (n_iterations - 1) for k in range(n_iterations)]


def fixed_times(n_iterations: int, eta: float) -> list[float]:
    """The time at which sigma(t) = eta on the paper's noise schedule, K times: no annealing."""
    return [float(Geometric().inverse(eta))] * n_iterations


def printed_penalty(eta: float, n_states: int) -> float:
    """Nats per mismatch as printed (eq. 10): log[(1 + (N-1)e^-eta) / ((N-1)(1 - e^-eta))].

    That is log[(1-beta)/beta] with beta the probability that a site changes. For N > 2 it is
    negative at large eta, where it rewards mismatches, and the chain's two conditionals do not
    belong to one joint law.
    """
    return consistent_penalty(eta, n_states) - math.log(n_states - 1)


def consistent_penalty(eta: float, n_states: int) -> float:
    """log[(1 + (N-1)e^-eta) / (1 - e^-eta)] >= 0: exp(-penalty d) is the diffusion's own kernel.

    Only with it is the prior step the conditional of the joint law that the likelihood step has.

    Raises:
        ValueError: ``eta`` is not positive: without noise the penalty is infinite.
    """
    if not eta > 0:
        raise ValueError(f"eta is {eta}; the penalty needs a noise level eta > 0")
    return math.log1p((n_states - 1) * math.exp(-eta)) - math.log(-math.expm1(-eta))


def loosened_penalty(
    eta: float,
    n_states: int,
    factor: float,
    penalty: Callable[[float, int], float] = printed_penalty,
) -> float:
    """The penalty of the noise level ``factor`` times eta (``alpha`` of the released code).

    10 in its super-resolution, where few proposals would be accepted at eta itself; the two
    conditionals then belong to different joint laws.
    """
    return penalty(factor * eta, n_states)
