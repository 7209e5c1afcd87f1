r"""Robust losses: functions psi(m, s) of a margin deficit m and a spread s.

For sample i, :math:`m_i = 1 - y_i f(x_i)` says how much of the margin is missing and
:math:`s_i = \|A_i^\top w\|_q` how much of it the uncertainty can take away. Each loss here is
convex, does not decrease in s, and is the support function of a convex set K (its *dual set*):

.. math:: \psi(m, s) = \max_{(a, v) \in K} a m + v s, \qquad (0,0) \in K \subset [0,1] \times [0,\infty).

The maximiser (a, v) is the pair of slopes of psi. Any member of K, optimal or not, gives a term of
a valid lower bound, which is what makes a certificate possible.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from robustsvm.blocks import Floats
from robustsvm.norms import TINY
from robustsvm.scalars import as_number

_INV_SQRT_2PI = 1.0 / np.sqrt(2.0 * np.pi)


def _phi(x: Floats) -> Floats:
    """Standard normal density."""
    with np.errstate(under="ignore"):
        return np.asarray(_INV_SQRT_2PI * np.exp(-0.5 * x**2))


def _expected_hinge(m: Floats, s: Floats | float) -> tuple[Floats, Floats, Floats]:
    """E max(0, m + s N(0,1)) and its slopes Phi(m/s), phi(m/s); the hinge where s = 0.

    The smoothed losses are this same function at other arguments.
    """
    m, s = np.asarray(m, np.float64), np.asarray(s, np.float64)
    with np.errstate(under="ignore", over="ignore"):
        # Beyond 40 standard deviations the density is zero in double precision and psi is the hinge.
        ratio = np.clip(m / np.maximum(s, TINY), -40.0, 40.0)
        # ndtr, not (1 + erf)/2: in the lower tail the latter has no correct digits left.
        a, v = ndtr(ratio), _phi(ratio)
        value = m * a + s * v
    if (s == 0).any():
        a, v = np.where((s == 0) & (m <= 0), 0.0, a), np.where(s == 0, 0.0, v)
    return np.maximum(value, 0.0), a, v


class Loss(ABC):
    """A robust loss psi(m, s), vectorised over samples. Holds scalars only: sets live with the points.

    A new loss says five things: `value`, `slopes`, `smoothed`, `curvature` and `largest_v`.
    """

    name: ClassVar[str]
    gaussian_only: ClassVar[bool] = False  # needs points with p = 2

    @abstractmethod
    def value(self, m: Floats, s: Floats) -> Floats:
        """psi(m, s) for each sample."""

    @abstractmethod
    def slopes(self, m: Floats, s: Floats) -> tuple[Floats, Floats]:
        """A maximiser (a, v) in K of a m + v s: the derivatives of psi where it has them."""

    @abstractmethod
    def smoothed(self, m: Floats, s: Floats, mu: float) -> tuple[Floats, Floats, Floats]:
        """A smooth psi_mu with psi <= psi_mu <= psi + 0.4 mu, and its slopes, which lie in K."""

    @abstractmethod
    def curvature(self, m: Floats, s: Floats, mu: float) -> tuple[Floats, Floats]:
        """(k, r): the Hessian of psi_mu in (m, s) is k [[1, r], [r, r^2]], up to a term that vanishes with mu."""

    @property
    def steepest(self) -> float:
        """The largest v in K: how fast psi can rise with the spread."""
        return float(self.largest_v(np.array([0.5, 1.0])).max())

    @abstractmethod
    def largest_v(self, a: Floats) -> Floats:
        """The edge of K: the largest v with (a, v) in K, for 0 <= a <= 1."""

    def in_dual_set(self, a: Floats, v: Floats, atol: float = 1e-12) -> np.ndarray:
        """Whether each (a, v) lies in K, up to rounding `atol`."""
        a, v = np.asarray(a, np.float64), np.asarray(v, np.float64)
        edge = self.largest_v(np.clip(a, 0.0, 1.0))
        return np.asarray((a >= -atol) & (a <= 1 + atol) & (v >= -atol) & (v <= edge + atol * (1 + edge)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Hinge(Loss):
    """max(0, m): the nominal SVM, which ignores the spread. K = [0, 1] x {0}.

    Examples
    --------
    >>> import numpy as np
    >>> Hinge().value(np.array([-1.0, 0.5]), np.array([3.0, 3.0]))
    array([0. , 0.5])
    """

    name = "hinge"

    def value(self, m: Floats, s: Floats) -> Floats:
        """max(0, m)."""
        return np.maximum(np.asarray(m, np.float64), 0.0)

    def slopes(self, m: Floats, s: Floats) -> tuple[Floats, Floats]:
        """(1, 0) above the kink, (0, 0) below and on it."""
        a = (np.asarray(m) > 0).astype(np.float64)
        return a, np.zeros_like(a)

    def smoothed(self, m: Floats, s: Floats, mu: float) -> tuple[Floats, Floats, Floats]:
        """Gaussian smoothing: E max(0, m + mu N(0,1))."""
        value, a, _ = _expected_hinge(m, mu)
        return value, a, np.zeros_like(a)

    def curvature(self, m: Floats, s: Floats, mu: float) -> tuple[Floats, Floats]:
        """phi(m/mu)/mu, and nothing in s."""
        return _phi(m / mu) / mu, np.zeros_like(m)

    def largest_v(self, a: Floats) -> Floats:
        """Zero."""
        return np.zeros_like(np.asarray(a, np.float64))


class WorstCase(Loss):
    r"""max(0, m + gamma s): the hinge at the worst point of a set of radius gamma ([CJ]_ 5-6).

    K is the triangle 0 <= a <= 1, 0 <= v <= gamma a.

    Parameters
    ----------
    gamma : float
        Radius of the uncertainty sets :math:`x_i + \{A_i u : \|u\|_p \le \gamma\}`. Per-sample
        radii belong to the points: ``pts.scaled(radii)``.

    References
    ----------
    .. [CJ] Couellan and Jan, Feature uncertainty bounding schemes for large robust nonlinear SVM
       classifiers, arXiv:1706.09795.

    Examples
    --------
    >>> import numpy as np
    >>> WorstCase(gamma=2.0).value(np.array([-1.0, 0.5]), np.array([0.25, 0.25]))
    array([0., 1.])
    """

    name = "worst_case"

    def __init__(self, gamma: float = 1.0) -> None:
        if np.ndim(gamma) != 0:
            raise ValueError("gamma must be one number; for a radius per sample use points.scaled(radii).")
        self.gamma = as_number(gamma, "gamma", at_least=0.0)

    def value(self, m: Floats, s: Floats) -> Floats:
        """max(0, m + gamma s)."""
        return np.maximum(np.asarray(m, np.float64) + self.gamma * np.asarray(s, np.float64), 0.0)

    def slopes(self, m: Floats, s: Floats) -> tuple[Floats, Floats]:
        """(1, gamma) above the kink, (0, 0) below and on it."""
        a = (np.asarray(m) + self.gamma * np.asarray(s) > 0).astype(np.float64)
        return a, self.gamma * a

    def smoothed(self, m: Floats, s: Floats, mu: float) -> tuple[Floats, Floats, Floats]:
        """Gaussian smoothing of the max: E max(0, m + gamma s + mu N(0,1))."""
        excess = np.asarray(m, np.float64) + self.gamma * np.asarray(s, np.float64)
        value, a, _ = _expected_hinge(excess, mu)
        return value, a, self.gamma * a

    def curvature(self, m: Floats, s: Floats, mu: float) -> tuple[Floats, Floats]:
        """phi(q/mu)/mu at q = m + gamma s, and gamma."""
        return _phi((m + self.gamma * s) / mu) / mu, np.full_like(m, self.gamma)

    def largest_v(self, a: Floats) -> Floats:
        """Gamma a."""
        return self.gamma * np.asarray(a, np.float64)

    def __repr__(self) -> str:
        return f"WorstCase(gamma={self.gamma:g})"


class ExpectedHinge(Loss):
    r"""E max(0, m + s N(0,1)) = m Phi(m/s) + s phi(m/s): SVM-GSU ([GSU]_ 6), Gaussian points.

    K is 0 <= a <= 1, 0 <= v <= phi(Phi^{-1}(a)). Smooth wherever s > 0; the hinge at s = 0.

    References
    ----------
    .. [GSU] Tzelepis, Mezaris and Patras, Linear Maximum Margin Classifier for Learning from
       Uncertain Data, IEEE TPAMI 2018.

    Examples
    --------
    >>> import numpy as np
    >>> ExpectedHinge().value(np.array([0.0, 2.0]), np.array([1.0, 0.0])).round(4)
    array([0.3989, 2.    ])
    """

    name = "expected_hinge"
    gaussian_only = True

    def value(self, m: Floats, s: Floats) -> Floats:
        """M Phi(m/s) + s phi(m/s)."""
        return _expected_hinge(m, s)[0]

    def slopes(self, m: Floats, s: Floats) -> tuple[Floats, Floats]:
        """(Phi(m/s), phi(m/s))."""
        _, a, v = _expected_hinge(m, s)
        return a, v

    def smoothed(self, m: Floats, s: Floats, mu: float) -> tuple[Floats, Floats, Floats]:
        """The loss of a point with mu^2 added to its variance: smooth at s = 0 too."""
        s = np.asarray(s, np.float64)
        wider = np.hypot(s, mu)
        value, a, v = _expected_hinge(m, wider)
        return value, a, v * (s / np.where(wider > 0, wider, 1.0))

    def curvature(self, m: Floats, s: Floats, mu: float) -> tuple[Floats, Floats]:
        """phi(tau)/t and -tau s/t, at t = sqrt(s^2 + mu^2) and tau = m/t."""
        t = np.maximum(np.hypot(s, mu), TINY)
        return _phi(m / t) / t, -m / t * (s / t)

    def largest_v(self, a: Floats) -> Floats:
        """phi(Phi^{-1}(a))."""
        with np.errstate(under="ignore"):
            return _phi(ndtri(np.asarray(a, np.float64)))


LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in (Hinge, WorstCase, ExpectedHinge)}
