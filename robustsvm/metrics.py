"""How a hyperplane does on uncertain points: error on the means, in expectation, in the worst case.

A hyperplane is a `Solution`, a fitted linear model with ``coef_`` and ``intercept_``, or a pair (w, b).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from robustsvm.blocks import Floats, matvec
from robustsvm.checks import as_labels
from robustsvm.hyperplanes import hyperplane_of
from robustsvm.points import UncertainPoints
from robustsvm.scalars import as_number


def _margins(model: Any, points: Any, y: Any) -> tuple[Floats, Floats]:
    """Y f(x) and the spread seen."""
    points = points if isinstance(points, UncertainPoints) else UncertainPoints(points)
    w, b = hyperplane_of(model, n_features=points.shape[1])
    labels = as_labels(y, len(points), both=False)
    return labels * (matvec(points.means, w) + b), points.spread.seen(w, points.q)


def mean_error(model: Any, points: Any, y: Any) -> float:
    """Fraction of the means on the wrong side; on the boundary counts half.

    Examples
    --------
    >>> import robustsvm as rs
    >>> pts = rs.UncertainPoints([[-2.0], [1.0], [3.0]], std=1.0)
    >>> rs.metrics.mean_error(([1.0], 0.0), pts, [-1, -1, 1])
    0.3333333333333333
    """
    margin, _ = _margins(model, points, y)
    return float(np.mean(np.heaviside(-margin, 0.5)))


def expected_error(model: Any, points: Any, y: Any) -> float:
    r"""Probability that a draw from a Gaussian point falls on the wrong side, on average.

    The mean of :math:`\Phi(-y_i f(x_i) / s_i)`, exact for Gaussian points; points without spread
    count as in `mean_error`.

    Examples
    --------
    >>> import robustsvm as rs
    >>> pts = rs.UncertainPoints([[-2.0], [1.0], [3.0]], std=1.0)
    >>> round(rs.metrics.expected_error(([1.0], 0.0), pts, [-1, -1, 1]), 4)
    0.2885
    """
    if isinstance(points, UncertainPoints) and points.p != 2:
        raise ValueError(f"expected_error reads points as Gaussians: p must be 2, got {points.p:g}.")
    margin, seen = _margins(model, points, y)
    certain = seen <= np.abs(margin) / 40.0
    chance = ndtr(-margin / np.where(certain, 1.0, seen))
    return float(np.mean(np.where(certain, np.heaviside(-margin, 0.5), chance)))


def worst_case_error(model: Any, points: Any, y: Any, gamma: float = 1.0) -> float:
    """Fraction of the points whose set of radius `gamma` touches the wrong side.

    Examples
    --------
    >>> import robustsvm as rs
    >>> pts = rs.UncertainPoints([[-2.0], [1.0], [3.0]], std=1.0)
    >>> rs.metrics.worst_case_error(([1.0], 0.0), pts, [-1, -1, 1], gamma=2.5)
    0.6666666666666666
    """
    gamma = as_number(gamma, "gamma", at_least=0.0)
    margin, seen = _margins(model, points, y)
    return float(np.mean(margin - gamma * seen <= 0))
