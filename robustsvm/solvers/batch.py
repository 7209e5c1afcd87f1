r"""The batch path: Newton's method on smoothed losses, on growing samples and then on all data.

Each step costs one pass, and a little for second derivatives, which come from the few samples that carry
them (`curvature`). Newton's method does not mind how features are scaled or rotated. The smoothing
mu falls as the steps succeed, by as much as the tolerance asks for; at every step the slopes of the smoothed
losses are a feasible dual point (`smoothing`), so the gap is known all the way and is what ends the solve.

The first steps are taken on a sample, where a pass costs a fraction of one, until the
sample is solved to the accuracy it has to offer.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from robustsvm.blocks import Floats
from robustsvm.curvature import RiskCurvature
from robustsvm.dual import dual_bound
from robustsvm.kinks import kink_dual
from robustsvm.problem import Problem
from robustsvm.smoothing import Look, View
from robustsvm.solution import Solution, relative_gap
from robustsvm.solvers.books import Callback, Proposal, Proposals, as_options, as_start, keep_books

FIRST_MU = 0.5  # margins
SMALLEST_MU = 1e-11
CUT = 0.2  # of mu, after a full step
SHORT, FIRST_DAMPING = 0.15, 1e-2  # a step after which curvature is added, and how much at first
FAR = 100.0  # times larger than what smoothing costs
GROWTH = 8  # from one sample to the next larger
STALLED = 80  # steps without a better gap


def solve_batch(
    problem: Problem,
    *,
    tol: float = 1e-6,
    max_passes: float | None = None,
    warm_start: Any = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Minimise `problem` by full passes over the data; deterministic. See the module for the method."""
    options = as_options(tol, max_passes, callback, verbose, most=500.0)
    start = as_start(warm_start, problem.points.shape[1], problem.fit_intercept)
    proposals = batch_steps(problem, options.tol, start)
    return keep_books("batch", proposals, options, start=start, n_features=problem.points.shape[1])


def batch_steps(problem: Problem, tol: float, start: tuple[Floats, float] | None) -> Proposals:
    """Proposals of the batch solver, one per Newton step."""
    rng = np.random.default_rng(0)  # which rows a Hessian is made of; the solver stays deterministic
    n, d = problem.points.shape
    passes, mu = 0.0, FIRST_MU
    if start is not None:
        w, b = problem.penalty.prox(start[0], 0.0), start[1]
        look = Look(problem, w, b)
        yield Proposal(w, b, look.objective(b), float("-inf"), None, 0.5)
        mu, passes = _fitting_mu(look), 2.0
    else:
        w, b = np.zeros(d), 0.0
        for part in _samples(problem, rng):
            enough = max(1e-2, d / len(part.y))  # more digits than that a sample does not have
            for view, cost in newton_steps(part, w, b, mu, enough, rng):
                passes += cost * len(part.y) / n
                w, b, mu = view.w, view.b, view.mu
                if relative_gap(view.objective, view.bound[0]) <= enough:
                    break
    for view, cost in newton_steps(problem, w, b, mu, tol, rng):
        yield Proposal(view.w, view.b, view.objective, *view.bound[:2], passes + cost)
        passes = 0.0
    yield from _finish(problem, view)


def _samples(problem: Problem, rng: np.random.Generator) -> Generator[Problem, None, None]:
    """Parts of the problem, each `GROWTH` times as large as the last; none where all data are few."""
    n, d = problem.points.shape
    size = max(2000, 20 * d)
    if n < 4 * size:
        return
    order = rng.permutation(n)
    while size <= n // 4:
        rows = np.sort(order[:size])
        positive = float(problem.weights[rows][problem.y[rows] > 0].sum())
        negative = float(problem.weights[rows][problem.y[rows] < 0].sum())
        if positive > 0 and negative > 0:
            yield problem.take(rows)
        size *= GROWTH


def _fitting_mu(look: Look) -> float:
    """The smoothing at which the slopes at w give the best bound: w is near the minimiser there."""
    tried = [look.through(mu) for mu in (FIRST_MU, 3e-2, 2e-3, 1e-4)]
    return max(tried, key=lambda view: view.bound[0]).mu


def newton_steps(
    problem: Problem, w: Floats, b: float, mu: float, tol: float, rng: np.random.Generator
) -> Generator[tuple[View, float], None, None]:
    """Newton's method with falling mu: the view of each point, and the passes since the last."""
    n, d = problem.points.shape
    budget = max(10 * d, min(4000, max(1000, n // 8)))
    view, cost = Look(problem, w, b).through(mu), 0.5
    best_gap, since, stuck, cut, damping = float("inf"), 0, 0, CUT, 0.0
    best_objective, best_bound = float("inf"), float("-inf")
    while True:
        yield view, cost + 0.5
        falling = view.objective < 0.99 * best_objective
        best_objective, best_bound = min(best_objective, view.objective), max(best_bound, view.bound[0])
        gap = relative_gap(best_objective, best_bound)
        since = 0 if gap < 0.9 * best_gap or falling else since + 1
        best_gap = min(gap, best_gap)
        if since >= STALLED or view.mu < SMALLEST_MU or stuck >= 6:
            return
        H = RiskCurvature(view, budget, rng, damping)
        step = problem.penalty.newton_step(view.w, view.z, H)
        look, size, trials = _line_search(view, step, -float(H.follow @ step))
        cost = H.passes + 0.5 * trials
        stuck = 0 if size > 0 else stuck + 1
        if size < SHORT:
            damping = max(2.0 * damping, FIRST_DAMPING)
        elif size == 1.0:
            damping = 0.25 * damping if damping > FIRST_DAMPING else 0.0
        cut = max(CUT, cut**2) if size == 1.0 else min(np.sqrt(cut), 0.8)
        done = view.slope_part < 0.01 * (view.objective - view.bound[0])  # nothing more to gain at this mu
        mu = 0.5 * view.mu if size == 0 else _next_mu(view, tol, cut) if size == 1.0 or done else view.mu
        view = look.through(mu)


def _next_mu(view: View, tol: float, cut: float) -> float:
    """A smaller mu, by `cut`, but not below what a quarter of the tolerance leaves to smoothing."""
    smoothing = view.objective - view.bound[0] - view.slope_part
    allowed = 0.25 * tol * view.objective
    if view.slope_part > FAR * max(smoothing, allowed):
        return view.mu  # far from the minimiser for this mu, and farther from that for a smaller one
    if smoothing <= allowed:
        return view.mu if view.slope_part > allowed else cut * view.mu
    # The part of the gap that smoothing makes falls with the square of mu where many samples are near the kink.
    return max(cut, float(np.sqrt(allowed / smoothing))) * view.mu


def _line_search(view: View, step: Floats, follow: float) -> tuple[Look, float, int]:
    """The first point along `step` that is enough of a descent, how far along it is, and how many were tried.

    The intercept goes along by `follow`. Where no point is a descent the result is where we are, 0 along.
    """
    penalty = view.problem.penalty
    slope = float((penalty.gradient(view.w) - view.z) @ step)
    if not (np.isfinite(step).all() and slope < 0):
        return view.look, 0.0, 0
    size = 1.0
    for trial in range(1, 25):
        new = Look(view.problem, view.w + size * step, view.b + size * follow)
        excess = new.value(view.mu) - view.value
        if excess <= 1e-4 * size * slope + 1e-15 * abs(view.value):
            return new, size, trial
        curved = excess - slope * size
        size *= min(max(-slope * size / (2.0 * curved), 0.1), 0.5) if np.isfinite(curved) else 0.1
    return view.look, 0.0, 24


def _finish(problem: Problem, view: View) -> Proposals:
    """The last digits where few samples sit on the kink: bounded least squares for their slopes."""
    for width in (1e-7, 1e-5, 1e-3):
        guess = kink_dual(problem, view.w, view.b, width)
        if guess is None:
            return
        yield Proposal(view.w, view.b, view.objective, *dual_bound(problem, guess)[:2], 2.0)
