r"""How stochastic steps are scaled: by the variances of the features, or by second derivatives.

A step of rate eta in the metric H goes from w, with g minus the gradient of the risk, to

.. math:: \arg\min_u\; R(u) - g^\top (u - w) + \frac1{2\eta} (u - w)^\top H (u - w) :

forward on the loss, backward on the penalty. The intercept is moved along so that the decision at a `centre` changes
by its own step alone. The longest safe rate weighs the curvature of the mean, which is 1 in a good metric,
against that of single rows, divided by the size of a minibatch.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from robustsvm.blocks import Floats, dense
from robustsvm.columns import ColumnScan
from robustsvm.curvature import RiskCurvature, solve_scaled
from robustsvm.penalties import Penalty
from robustsvm.problem import Problem

LOOKED_AT = 2000  # rows that lengths and the largest eigenvalue are taken from
LEAST_BEND = 1e-2  # mean curvature that is counted on even where none is seen: margins will move
DAMPING = 0.1  # of a metric by second derivatives: the share of mean curvature, spread as the features are


class Metric(Protocol):
    """What a stochastic epoch asks of a metric."""

    @property
    def centre(self) -> Floats:
        """Where the decision moves with the intercept alone."""

    @property
    def bend(self) -> float:
        """Curvature along the intercept."""

    def rate(self, size: int) -> float:
        """The longest safe rate for minibatches of `size` rows."""

    def step(self, penalty: Penalty, w: Floats, pull: Floats, eta: float) -> Floats:
        """From w, with `pull` minus the gradient at a fixed decision at the centre."""


class FeatureScales:
    """The features' variances, times a curvature common to all.

    Parameters
    ----------
    columns : ColumnScan
        Of the means.
    part : Problem
        Some of the data, to take lengths of rows from.
    centred : bool
        Whether to take the column means off.
    """

    def __init__(self, columns: ColumnScan, part: Problem, centred: bool, rng: np.random.Generator) -> None:
        self.centre = columns.means if centred else np.zeros(len(columns.total))
        squares = columns.variances if centred else columns.squares / columns.count
        # Along its own direction a spread bends nothing, across it at most as much as its variance does.
        squares = squares + part.loss.steepest**2 * part.points.spread.mean_variances()
        # A feature that never changes has no scale of its own: that of its values, or of nothing.
        squares = np.maximum(squares, 1e-12 * np.maximum(columns.squares / columns.count, float(squares.max())))
        self.squares = np.where(squares > 0, squares, 1.0)
        rows = np.sort(rng.permutation(len(part.y))[:LOOKED_AT])
        scaled = (dense(part.points.means[rows]) - self.centre) / np.sqrt(self.squares)
        lengths = np.einsum("ij,ij->i", scaled, scaled) + 1.0
        u = rng.standard_normal(len(self.centre))
        for _ in range(20):  # power iteration
            u = scaled.T @ (scaled @ (u / max(float(np.linalg.norm(u)), 1e-300))) / len(scaled)
        self.largest = float(np.linalg.norm(u)) + 1.0
        self.length = float((lengths**2).mean() / lengths.mean())
        self.bend, self.peak = 1.0, 1.0

    def with_curvature(self, bend: float, peak: float) -> FeatureScales:
        """The same for losses of mean curvature `bend`, that of the curved ones `peak`."""
        self.bend, self.peak = max(bend, LEAST_BEND), max(peak, LEAST_BEND)
        return self

    def rate(self, size: int) -> float:
        """One over the largest eigenvalue, noise included, in units of the metric."""
        return 1.0 / (self.largest + self.peak / self.bend * self.length / size)

    def step(self, penalty: Penalty, w: Floats, pull: Floats, eta: float) -> Floats:
        """A step for each feature, and the penalty's prox."""
        steps = eta / (self.bend * self.squares)
        return penalty.prox(w + steps * pull, steps)


class SecondDerivatives:
    """The Hessian at the last survey: d squared work for a step.

    Parameters
    ----------
    H : RiskCurvature
        With a matrix.
    scales : FeatureScales
        For damping.
    sharper : float
        How much more single losses are curved than those H is made of.
    """

    def __init__(self, H: RiskCurvature, scales: FeatureScales, sharper: float) -> None:
        assert H.H is not None
        self.bend = max(float(H.k.sum()), LEAST_BEND)
        self.centre = H.follow
        self.matrix = H.H + np.diag(DAMPING * self.bend * scales.squares)
        solved = solve_scaled(self.matrix, H.h.T).T
        shares = np.einsum("ij,ij->i", solved, H.h) + H.k / self.bend  # each row's part of its own curvature
        self.noise = sharper * float((shares**2 * H.thinned).sum()) / max(float(shares.sum()), 1e-300)
        self._eta, self._stepper = 0.0, _Divided(self.matrix, 1.0)

    def rate(self, size: int) -> float:
        """One over one, and the noise."""
        return 1.0 / (1.0 + self.noise / size)

    def step(self, penalty: Penalty, w: Floats, pull: Floats, eta: float) -> Floats:
        """The penalty's Newton step in this metric, divided by the rate."""
        if eta != self._eta:
            self._eta, self._stepper = eta, _Divided(self.matrix, eta)
        return w + penalty.newton_step(w, pull, self._stepper)


class _Divided:
    """A metric H / eta, as penalties use it, prepared for many solves."""

    def __init__(self, H: Floats, eta: float) -> None:
        self.H = H / eta
        self.theta, self.inverse = -1.0, H
        self.uses = 0

    def times(self, u: Floats) -> Floats:
        """H u / eta."""
        return np.asarray(self.H @ u)

    def solve(self, theta: float, g: Floats) -> Floats:
        """(H/eta + theta I)^{-1} g."""
        if theta == self.theta:  # a ridge asks for the same theta in every step
            return np.asarray(self.inverse @ g)
        self.uses += 1
        if self.uses == 1:
            shifted = self.H + theta * np.eye(len(g))
            self.theta, self.inverse = theta, solve_scaled(shifted, np.eye(len(g)))
            return np.asarray(self.inverse @ g)
        values, vectors = self._eigen
        return np.asarray(vectors @ ((vectors.T @ g) / (values + theta)))

    @cached_property
    def _eigen(self) -> tuple[Floats, Floats]:
        values, vectors = np.linalg.eigh(self.H)
        return np.maximum(values, 1e-14 * float(values[-1])), vectors
