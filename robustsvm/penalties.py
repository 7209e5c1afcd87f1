"""Penalties R(w): value, proximal step and conjugate, together because a law ties them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from robustsvm.blocks import Floats
from robustsvm.norms import TINY
from robustsvm.scalars import as_number


def _length(z: Floats) -> float:
    """The Euclidean norm, without the squares that vanish or overflow: 0 only for 0."""
    largest = float(np.abs(z).max(initial=0.0))
    return largest * float(np.linalg.norm(z / largest)) if 0 < largest < np.inf else largest


class Curvature(Protocol):
    """A positive semidefinite matrix H, by what can be done with it."""

    def times(self, u: Floats) -> Floats:
        """H u."""

    def solve(self, theta: float, g: Floats) -> Floats:
        """(H + theta I)^{-1} g, for theta > 0."""


class Penalty(ABC):
    """A convex function of w with R(0) = 0, its minimum."""

    @abstractmethod
    def value(self, w: Floats) -> float:
        """R(w)."""

    @abstractmethod
    def gradient(self, w: Floats) -> Floats:
        """A subgradient of R at w."""

    def ray(self, w: Floats) -> Floats | None:
        """A direction that may be added to `gradient` in any positive amount, where R has such a kink."""
        return None

    @abstractmethod
    def prox(self, w: Floats, step: float | Floats) -> Floats:
        """Argmin over u of R(u) + sum_j (u_j - w_j)^2 / (2 step_j): one step for all features, or one each."""

    @abstractmethod
    def newton_step(self, w: Floats, z: Floats, H: Curvature) -> Floats:
        """The step d that minimises R(w + d) - z.d + d.H d/2."""

    @abstractmethod
    def conjugate(self, z: Floats) -> float:
        """R*(z) = max over w of z.w - R(w)."""

    @abstractmethod
    def conjugate_maximiser(self, z: Floats) -> Floats:
        """A w that attains R*(z): the primal point that a dual point proposes."""

    @abstractmethod
    def conjugate_error(self, z: Floats, error: Floats) -> float:
        """How much larger R*(z + dz) can be than R*(z) when ``|dz| <= error`` entry by entry."""

    @abstractmethod
    def best_scale(self, gain: float, z: Floats) -> float:
        """The t in [0, 1] that maximises t gain - R*(t z)."""


class Ridge(Penalty):
    """lam/2 ||w||^2. scikit-learn's SGDClassifier calls lam alpha; SVC's C is 1/(n lam).

    Examples
    --------
    >>> import numpy as np
    >>> ridge = Ridge(lam=0.5)
    >>> w = np.array([3.0, 4.0])
    >>> ridge.value(w), ridge.conjugate(w), ridge.prox(w, step=2.0)
    (6.25, 25.0, array([1.5, 2. ]))
    """

    def __init__(self, lam: float) -> None:
        self.lam = as_number(lam, "lam", above=0.0)

    def value(self, w: Floats) -> float:
        """lam/2 ||w||^2."""
        return 0.5 * self.lam * float(w @ w)

    def gradient(self, w: Floats) -> Floats:
        """Lam w."""
        return self.lam * w

    def prox(self, w: Floats, step: float | Floats) -> Floats:
        """W / (1 + step lam)."""
        return w / (1.0 + step * self.lam)

    def newton_step(self, w: Floats, z: Floats, H: Curvature) -> Floats:
        """(H + lam I)^{-1} (z - lam w)."""
        return H.solve(self.lam, z - self.lam * w)

    def conjugate(self, z: Floats) -> float:
        """||z||^2 / (2 lam)."""
        return float(z @ z) / (2.0 * self.lam)

    def conjugate_maximiser(self, z: Floats) -> Floats:
        """Z / lam."""
        return z / self.lam

    def conjugate_error(self, z: Floats, error: Floats) -> float:
        """(|z| + error/2).error / lam."""
        return float((np.abs(z) + 0.5 * error) @ error) / self.lam

    def best_scale(self, gain: float, z: Floats) -> float:
        """Lam gain / ||z||^2, cut to [0, 1]."""
        square = float(z @ z)
        if gain <= 0:
            return 0.0
        return 1.0 if self.lam * gain >= square else self.lam * gain / square

    def __repr__(self) -> str:
        return f"Ridge(lam={self.lam:g})"


class Ball(Penalty):
    """0 while ||w|| <= radius, infinity outside: TSVC's QCQP bounds the norm instead of paying for it.

    Examples
    --------
    >>> import numpy as np
    >>> ball = Ball(radius=1.0)
    >>> w = np.array([3.0, 4.0])
    >>> ball.value(w), ball.conjugate(w), ball.prox(w, step=2.0)
    (inf, 5.0, array([0.6, 0.8]))
    """

    def __init__(self, radius: float) -> None:
        self.radius = as_number(radius, "radius", above=0.0)

    def value(self, w: Floats) -> float:
        """0 or infinity; a few units in the last place outside count as on the sphere."""
        return 0.0 if float(np.linalg.norm(w)) <= self.radius * (1.0 + 1e-14) else float("inf")

    def gradient(self, w: Floats) -> Floats:
        """0, a member of the normal cone at every point of the ball."""
        return np.zeros_like(w)

    def ray(self, w: Floats) -> Floats | None:
        """The outward normal, on the sphere."""
        return w if float(np.linalg.norm(w)) >= self.radius * (1.0 - 1e-6) else None

    def prox(self, w: Floats, step: float | Floats) -> Floats:
        """The nearest point of the ball; with a step each, w / (1 + theta step) for the theta that ends on it."""
        norm = float(np.linalg.norm(w))
        if norm <= self.radius:
            return w
        if np.ndim(step) == 0:
            return w * (self.radius / norm)
        low, high = 0.0, 1.0 / float(np.min(step)) * (norm / self.radius)
        found = w * (self.radius / norm)
        for _ in range(60):
            theta = 0.5 * (low + high)
            found = w / (1.0 + theta * step)
            size = float(np.linalg.norm(found))
            low, high = (theta, high) if size > self.radius else (low, theta)
            if self.radius * (1.0 - 1e-9) <= size <= self.radius:
                return found
        return found * min(1.0, self.radius / float(np.linalg.norm(found)))

    def newton_step(self, w: Floats, z: Floats, H: Curvature) -> Floats:
        """To the point of the ball where the quadratic model is least: (H + theta I) d = z - theta w, theta >= 0."""
        reach = float(np.linalg.norm(H.times(w) + z))
        high = 1.01 * reach / self.radius  # here w + d lies inside, since H adds to theta
        low = 1e-13 * high
        if reach == 0:
            return -w
        inside, outside = (H.solve(theta, z - theta * w) for theta in (high, low))
        if float(np.linalg.norm(w + outside)) <= self.radius:
            return outside
        for _ in range(60):  # 1/|w + d| is nearly linear in theta: false position, kept off the ends
            ends = [1.0 / max(float(np.linalg.norm(w + d)), TINY) for d in (outside, inside)]
            share = (1.0 / self.radius - ends[0]) / max(ends[1] - ends[0], TINY)
            theta = low + float(np.clip(share, 0.02, 0.98)) * (high - low)
            d = H.solve(theta, z - theta * w)
            norm = float(np.linalg.norm(w + d))
            if norm > self.radius:
                low, outside = theta, d
                continue
            high, inside = theta, d
            if norm >= self.radius * (1.0 - 1e-10):
                break
        return inside

    def conjugate(self, z: Floats) -> float:
        """Radius ||z||."""
        return self.radius * _length(z)

    def conjugate_maximiser(self, z: Floats) -> Floats:
        """Radius z / ||z||."""
        norm = _length(z)
        return (z / norm) * self.radius if norm > 0 else np.zeros_like(z)

    def conjugate_error(self, z: Floats, error: Floats) -> float:
        """Radius ||error||."""
        return self.radius * _length(error)

    def best_scale(self, gain: float, z: Floats) -> float:
        """Linear in t: all or nothing."""
        return 1.0 if gain > self.conjugate(z) else 0.0

    def __repr__(self) -> str:
        return f"Ball(radius={self.radius:g})"
