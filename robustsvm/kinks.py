"""Kink least squares: the multipliers of samples and directions that sit exactly on a kink.

At an optimum of a piecewise smooth problem the samples on the kink of max(0, .) have slopes
strictly between those of its two sides, and where a norm has a kink its direction is no function
of w. Both are found by asking that the dual vector equal the penalty's gradient, in the sense of
bounded least squares. Whatever comes out is a feasible dual point, so the bound is true even where
the guess is poor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import lsq_linear

from robustsvm.blocks import Floats, dense
from robustsvm.dual import Dual, dual_vector
from robustsvm.norms import dual_directions
from robustsvm.problem import Problem

MAX_UNKNOWNS = 400


def kink_dual(problem: Problem, w: Floats, b: float, width: float) -> Dual | None:
    """The dual point at (w, b) whose samples within `width` of a kink are set by least squares.

    None where more than `MAX_UNKNOWNS` samples are that close, and a solver is the better tool.
    """
    m, s = problem.margins_and_spreads(w, b)
    below, above = problem.loss.slopes(m - width, s), problem.loss.slopes(m + width, s)
    jump = above[0] - below[0]
    free = np.flatnonzero((jump > 0.5) & (problem.weights > 0))
    if len(free) > MAX_UNKNOWNS:
        return None
    a, v = problem.loss.slopes(m, s)
    e, loose = _directions(problem, w, width)
    target, ray = problem.penalty.gradient(w), problem.penalty.ray(w)
    for _ in range(3 if loose.any() else 1):
        if len(free):
            theta = _sample_step(problem, (a, v), (below, above), free, e, target, ray)
            a[free] = below[0][free] + theta * jump[free]
            v[free] = below[1][free] + theta * (above[1] - below[1])[free]
        if loose.any():
            e = _direction_step(problem, Dual(a, v, e), loose, target, ray)
    return Dual(a, v, e)


def _directions(problem: Problem, w: Floats, width: float) -> tuple[Floats, Any]:
    """Directions of the norms at w, and which of their entries w leaves open."""
    spread, q = problem.points.spread, problem.points.q
    if spread.is_zero:
        return np.zeros((spread.n_atoms, spread.rank)), np.zeros((spread.n_atoms, spread.rank), bool)
    U = spread.project(w)
    sizes = np.abs(U)
    largest = sizes.max(axis=1, keepdims=True)
    # What w sees is in units of the margin, as `width` is, so the two compare as they are.
    loose = np.repeat(largest <= width, spread.rank, axis=1)
    if q == 1:
        loose |= sizes <= width
    elif np.isinf(q):
        tied = sizes >= largest - width
        loose |= tied & (tied.sum(axis=1) > 1)[:, None]
    e = dual_directions(U, q)
    e[loose] = 0.0
    return e, loose


def _bounded(columns: Floats, residual: Floats, low: float, high: float, ray: Floats | None) -> Floats:
    """Bounded least squares for columns @ x = residual, with any positive amount of `ray` allowed."""
    k = columns.shape[1]
    upper = np.full(k, high)
    if ray is not None:
        columns, upper = np.column_stack([columns, -ray]), np.append(upper, np.inf)
    lower = np.append(np.full(k, low), np.zeros(columns.shape[1] - k))
    scale = max(float(np.abs(columns).max()), float(np.abs(residual).max()), 1e-300)
    try:
        found = lsq_linear(columns / scale, residual / scale, (lower, upper), method="bvls", tol=1e-15, max_iter=20 * k)
    except np.linalg.LinAlgError:  # a guess may fail, a certificate may not
        return np.zeros(k)
    return np.asarray(found.x[:k])


def _sample_step(
    problem: Problem,
    slopes: tuple[Floats, Floats],
    sides: tuple[tuple[Floats, Floats], tuple[Floats, Floats]],
    free: Any,
    e: Floats,
    target: Floats,
    ray: Floats | None,
) -> Floats:
    """How far each free sample is from the lower to the upper side of its kink, in [0, 1]."""
    (a, v), (below, above) = slopes, sides
    a, v = a.copy(), v.copy()
    a[free], v[free] = below[0][free], below[1][free]
    start = dual_vector(problem, Dual(a, v, e))
    means = dense(problem.points.means[free])
    if problem.offset is not None:
        means = means - problem.offset
    weight = problem.weights[free] / len(problem.y)
    columns = (weight * (above[0] - below[0])[free] * problem.y[free]) * means.T
    rise = weight * (above[1] - below[1])[free]
    if rise.any():
        columns = columns - rise * problem.points.spread.moved(e, free).T
    residual = target - start
    if problem.fit_intercept:
        # One more row: the classes must balance, weighted to count as much as a column does.
        tie = max(float(np.linalg.norm(columns, axis=0).max() / weight.max()), 1.0)
        columns = np.vstack([columns, tie * weight * (above[0] - below[0])[free] * problem.y[free]])
        residual = np.append(residual, -tie * float(np.mean(problem.weights * a * problem.y)))
        ray = None if ray is None else np.append(ray, 0.0)
    return _bounded(columns, residual, 0.0, 1.0, ray)


def _direction_step(problem: Problem, dual: Dual, loose: Any, target: Floats, ray: Floats | None) -> Floats:
    """Entries of e that w leaves open, each its own unknown, or one per column where there are too many."""
    assert dual.e is not None
    spread = problem.points.spread
    e = np.where(loose, 0.0, dual.e)
    residual = target - dual_vector(problem, Dual(dual.a, dual.v, e))
    omega = spread.gather(problem.weights * dual.v / len(problem.y))
    if loose.sum() <= MAX_UNKNOWNS:
        patterns = [(np.array([k]), np.array([j])) for k, j in np.argwhere(loose)]
    else:
        patterns = [(rows := np.flatnonzero(loose[:, j]), np.full(len(rows), j)) for j in np.flatnonzero(loose.any(0))]
    columns = np.empty((len(target), len(patterns)))
    for column, (rows, j) in enumerate(patterns):
        unit = np.zeros_like(e)
        unit[rows, j] = omega[rows]
        columns[:, column] = -spread.lift(unit)
    if np.abs(columns).max() == 0:
        return e
    for (rows, j), found in zip(patterns, _bounded(columns, residual, -1.0, 1.0, ray), strict=True):
        e[rows, j] = found
    return e
