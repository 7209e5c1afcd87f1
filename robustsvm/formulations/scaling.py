"""What the objective is multiplied by before a cone solver, with its absolute tolerances, sees it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LARGEST_FACTOR = 1e8  # beyond it Clarabel takes the losses for unbounded
LEAST_LAM = 1e-7


class Scaling:
    """Factors of risk and ridge, read by CVXPY parameters each time a problem is solved.

    1/lam in the units of the variables brings the ridge, and with it the dual vector, to order one: in
    the plain form lam = 1e-8 left a gap of 0.4. Where lam is large P is of order one as it is.

    Parameters
    ----------
    lam : cvxpy.Parameter or None
        The ridge's parameter; None where the penalty is not a ridge.
    unit : float
        Typical unit of the features: lam counts as lam / unit^2.
    largest_unit : float
        The largest, in which weights are cheapest: lam / largest_unit^2 is what separable data pay.
    """

    def __init__(self, lam: Any, unit: float, largest_unit: float) -> None:
        self._lam, self._unit, self._largest = lam, unit, largest_unit
        self._boost, self._least_lam = 1.0, 0.0

    def relative_lam(self) -> float:
        """Lam in the units of the variables."""
        return max(float(self._lam.value) / self._unit**2, self._least_lam)

    def factor(self) -> float:
        """What the average loss is multiplied by."""
        factor = 1.0 if self._lam is None else max(1.0, 1.0 / self.relative_lam())
        return min(factor, LARGEST_FACTOR) * self._boost

    def ridge(self) -> float:
        """What half the squared norm is multiplied by."""
        return self.relative_lam() * self.factor()

    @contextmanager
    def order_one(self, objective: float) -> Iterator[bool]:
        """For a while, an objective of that size becomes 1; False where it is about that already."""
        boost = 1.0 / (objective * self.factor())
        self._boost = boost
        try:
            yield not 0.1 < boost < 10.0
        finally:
            self._boost = 1.0

    @contextmanager
    def larger_lam(self) -> Iterator[bool]:
        """For a while, a lam large enough for a solver; False where it is that already.

        Where data are separable and lam tiny only its order of magnitude matters: w stays as it is, and
        the bound itself finds the factor by which the multipliers shrink.
        """
        least = LEAST_LAM * (self._largest / self._unit) ** 2
        small = self._lam is not None and self.relative_lam() < least
        self._least_lam = least
        try:
            yield small
        finally:
            self._least_lam = 0.0
