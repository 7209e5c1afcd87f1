r"""Newton's method for the expected hinge: the last digits, after a cone program found the neighbourhood.

Adding mu^2 to every variance makes the objective smooth even where points are certain. Newton's
method does not mind how features are scaled, and at the end of it the slopes of the smoothed losses
are a dual point whose gap is what the smoothing changed, at most 0.4 mu, plus
:math:`\|g\|^2 / (2\lambda)`, g the gradient that is left.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robustsvm.blocks import Floats, dense
from robustsvm.dual import Dual
from robustsvm.losses import ExpectedHinge
from robustsvm.penalties import Ridge
from robustsvm.problem import Problem

MAX_STEPS = 30


def newton_path(problem: Problem, w: Floats, b: float, smallest: float) -> Iterator[tuple[Floats, float, Dual, int]]:
    """Minimisers (w, b) for less and less smoothing, with the dual point each implies and the steps it took.

    One stop without smoothing where w sees some spread of every point; else mu falls to `smallest`.
    Nothing is yielded for other losses and penalties.
    """
    if not (isinstance(problem.loss, ExpectedHinge) and isinstance(problem.penalty, Ridge)):
        return
    mu = 0.0 if problem.points.spread.seen(w, 2.0).min() > 1e-9 else 1e-2
    while True:
        w, b, steps = _minimise(problem, w, b, mu)
        _, a, v = problem.loss.smoothed(*problem.margins_and_spreads(w, b), mu)
        yield w, b, Dual(a, v, witness=w), steps
        if mu <= smallest:
            return
        mu /= 5.0


def _minimise(problem: Problem, w: Floats, b: float, mu: float) -> tuple[Floats, float, int]:
    """(w, b) after damped Newton steps, each a descent step, and how many there were."""
    value = _value(problem, w, b, mu)
    for step in range(MAX_STEPS):
        gradient, hessian = _derivatives(problem, w, b, mu)
        try:
            direction = -np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:
            return w, b, step
        slope = float(gradient @ direction)
        if not np.isfinite(slope) or -slope <= 1e-15 * value:
            return w, b, step
        size = 1.0
        while size > 1e-8:
            new_w, new_b = w + size * direction[:-1], b + size * float(direction[-1])
            new_value = _value(problem, new_w, new_b, mu)
            if new_value <= value + 1e-4 * size * slope:
                break
            size /= 2
        else:
            return w, b, step
        w, b, value = new_w, new_b, new_value
    return w, b, MAX_STEPS


def _value(problem: Problem, w: Floats, b: float, mu: float) -> float:
    smooth, _, _ = problem.loss.smoothed(*problem.margins_and_spreads(w, b), mu)
    return problem.penalty.value(w) + float(np.mean(problem.weights * smooth))


def _derivatives(problem: Problem, w: Floats, b: float, mu: float) -> tuple[Floats, Floats]:
    """Gradient and Hessian of the smoothed objective in (w, b).

    With t = sqrt(s^2 + mu^2) and tau = m/t, the second derivatives of psi in (m, t) are phi(tau)/t times
    [[1, -tau], [-tau, tau^2]], a square: each sample adds the outer product of one vector with itself,
    and the curvature of t, a norm in w: (Sigma - g g^T) / t with its gradient g = Sigma w / t.
    """
    m, s = problem.margins_and_spreads(w, b)
    t = np.maximum(np.hypot(s, mu), 1e-300)
    a, v = problem.loss.slopes(m, t)
    d, spread, y = len(w), problem.points.spread, problem.y
    weight = problem.weights / len(m)
    toward = spread.displacements(w, 2.0) * (s / t)[:, None]
    X = dense(problem.points.means)
    gradient = np.append(problem.penalty.gradient(w) - (weight * a * y) @ X + (weight * v) @ toward, -weight @ (a * y))
    curved = weight * v / t
    rows = np.column_stack([y[:, None] * X + (m / t)[:, None] * toward, y])
    hessian = (curved[:, None] * rows).T @ rows
    hessian[:d, :d] += spread.weighted_covariance(curved) - (curved[:, None] * toward).T @ toward
    hessian[:d, :d] += problem.penalty.lam * np.eye(d)  # type: ignore[attr-defined]
    if not problem.fit_intercept:
        gradient[d], hessian[d, :], hessian[:, d], hessian[d, d] = 0.0, 0.0, 0.0, 1.0
    return gradient, hessian
