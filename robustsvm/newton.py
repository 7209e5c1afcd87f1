r"""Newton's method for the expected hinge: the last digits, after a cone program found the neighbourhood.

Where every point has some spread the objective is smooth, Newton's method does not mind how features
are scaled, and at its end the slopes of the losses are an all but optimal dual point: the gap is
:math:`\|g\|^2 / (2\lambda)`, g the gradient that is left.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from robustsvm.blocks import Floats
from robustsvm.losses import ExpectedHinge
from robustsvm.penalties import Ridge
from robustsvm.problem import Problem

MAX_STEPS = 30


def is_smooth(problem: Problem, w: Floats) -> bool:
    """Whether Newton's method applies near w: expected hinge, ridge, and a spread seen of every point."""
    if not (isinstance(problem.loss, ExpectedHinge) and isinstance(problem.penalty, Ridge)):
        return False
    seen = problem.points.spread.seen(w, 2.0)
    return bool(seen.min() > 1e-9)


def newton_polish(problem: Problem, w: Floats, b: float) -> tuple[Floats, float, int]:
    """(w, b) after damped Newton steps, each a descent step, and how many there were."""
    objective = problem.objective(w, b)
    for step in range(MAX_STEPS):
        gradient, hessian = _derivatives(problem, w, b)
        try:
            direction = -np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:
            return w, b, step
        slope = float(gradient @ direction)
        if not np.isfinite(slope) or -slope <= 1e-15 * objective:
            return w, b, step
        size = 1.0
        while size > 1e-8:
            new_w, new_b = w + size * direction[:-1], b + size * direction[-1] * problem.fit_intercept
            value = problem.objective(new_w, new_b)
            if value <= objective + 1e-4 * size * slope:
                break
            size /= 2
        else:
            return w, b, step
        w, b, objective = new_w, new_b, value
    return w, b, MAX_STEPS


def _derivatives(problem: Problem, w: Floats, b: float) -> tuple[Floats, Floats]:
    """Gradient and Hessian in (w, b).

    With tau = m/s, the second derivatives of psi are phi/s times [[1, -tau], [-tau, tau^2]]: a square,
    so each sample adds one vector's outer product, and the curvature of s itself.
    """
    m, s = problem.margins_and_spreads(w, b)
    _, v = problem.loss.slopes(m, s)
    d, spread = len(w), problem.points.spread
    weight = problem.weights / len(m)
    curved = weight * v / s
    toward = spread.displacements(w, 2.0)  # the gradient of each s_i
    X = problem.points.means
    means = X.toarray() if sp.issparse(X) else np.asarray(X, np.float64)
    rows = np.column_stack([problem.y[:, None] * means + (m / s)[:, None] * toward, problem.y])
    hessian = (curved[:, None] * rows).T @ rows
    # s is a norm: its Hessian is (Sigma - g g^T) / s.
    hessian[:d, :d] += spread.weighted_covariance(curved) - (curved[:, None] * toward).T @ toward
    hessian[:d, :d] += problem.penalty.lam * np.eye(d)  # type: ignore[attr-defined]
    gw, gb = problem.gradient(w, b)
    if not problem.fit_intercept:
        hessian[d, :], hessian[:, d], hessian[d, d] = 0.0, 0.0, 1.0
    return np.append(gw, gb), hessian
