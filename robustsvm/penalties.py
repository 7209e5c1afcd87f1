"""Penalties R(w): value, proximal step and conjugate, together because a law ties them."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from robustsvm.blocks import Floats
from robustsvm.scalars import as_number


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
    def prox(self, w: Floats, step: float) -> Floats:
        """Argmin over u of step R(u) + ||u - w||^2 / 2."""

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

    def prox(self, w: Floats, step: float) -> Floats:
        """W / (1 + step lam)."""
        return w / (1.0 + step * self.lam)

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

    def prox(self, w: Floats, step: float) -> Floats:
        """The nearest point of the ball."""
        norm = float(np.linalg.norm(w))
        return w if norm <= self.radius else w * (self.radius / norm)

    def conjugate(self, z: Floats) -> float:
        """Radius ||z||."""
        return self.radius * float(np.linalg.norm(z))

    def conjugate_maximiser(self, z: Floats) -> Floats:
        """Radius z / ||z||."""
        norm = float(np.linalg.norm(z))
        return z * (self.radius / norm) if norm > 0 else np.zeros_like(z)

    def conjugate_error(self, z: Floats, error: Floats) -> float:
        """Radius ||error||."""
        return self.radius * float(np.linalg.norm(error))

    def best_scale(self, gain: float, z: Floats) -> float:
        """Linear in t: all or nothing."""
        return 1.0 if gain > self.conjugate(z) else 0.0

    def __repr__(self) -> str:
        return f"Ball(radius={self.radius:g})"
