"""certify: a hyperplane from anywhere -> objective, lower bound, gap."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from robustsvm.blocks import Floats
from robustsvm.chunks import ChunkedProblem
from robustsvm.dual import Dual, dual_bound
from robustsvm.errors import SolverFailedError, SolverWarning
from robustsvm.hyperplanes import hyperplane_of
from robustsvm.kinks import kink_dual
from robustsvm.problem import Problem
from robustsvm.scalars import as_number
from robustsvm.solution import Certificate, honest_bound, relative_gap
from robustsvm.solvers.batch import solve_batch
from robustsvm.solvers.choice import choose
from robustsvm.solvers.exact import solve_exact
from robustsvm.solvers.stochastic import solve_stochastic

KINK_WIDTHS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)


def certify(
    problem: Problem | ChunkedProblem,
    w: Any,
    b: Any = None,
    *,
    dual: Dual | None = None,
    tol: float = 1e-6,
    effort: int = 3,
) -> Certificate:
    """Prove how far (w, b) is from the optimum of `problem`, whoever found it.

    The bound is looked for on a ladder, cheapest rung first, and the climb ends as soon as the gap
    is at most `tol`; the best bound seen is reported:

    0. ``dual``: a dual point of the caller's, repaired (one pass); where it proves itself optimal the climb
       ends here, whatever (w, b) is;
    1. ``slopes``: the slopes of the losses at w, with the best b for them (exact for smooth losses);
    2. ``kinks``: bounded least squares for the samples that sit on a kink;
    3. ``exact`` or ``batch``: a solve of the problem, whose dual point bounds every hyperplane; the solver is the one
       that `solve` would choose.

    Parameters
    ----------
    problem : Problem or ChunkedProblem
        The problem that (w, b) is an answer to. A stream is certified by a stochastic solve started at (w, b).
    w : (d,) or (1, d) array, Solution, or fitted linear model
        The hyperplane; a Solution and a model with ``coef_`` and ``intercept_`` bring their own b.
    b : float, optional
        The intercept, 0 by default.
    dual : Dual, optional
        A dual point you have. It need not be feasible.
    tol : float
        Relative gap that is good enough.
    effort : {0, 1, 2, 3}
        The highest rung to climb to.

    Returns
    -------
    Certificate
        Its ``lower_bound`` is below every objective value of the problem, whatever w was given.

    Examples
    --------
    >>> import robustsvm as rs
    >>> pts = rs.UncertainPoints([[-2.0], [-1.0], [1.0], [2.0]], std=0.5)
    >>> problem = rs.Problem(pts, [-1, -1, 1, 1], rs.losses.WorstCase(gamma=1.0), lam=0.1)
    >>> good = rs.certify(problem, [2.0])
    >>> round(good.objective, 6), good.gap < 1e-6, good.source
    (0.2, True, 'kinks')
    >>> bad = rs.certify(problem, [1.0])
    >>> round(bad.objective, 4), round(bad.lower_bound, 4)
    (0.3, 0.2)
    """
    if not isinstance(problem, (Problem, ChunkedProblem)):
        raise TypeError(f"certify takes a Problem, got {type(problem).__name__}; a formulation has one as .problem.")
    if dual is not None and not isinstance(dual, Dual):
        raise TypeError(f"dual must be an rs.Dual(a, v, e), got {type(dual).__name__}.")
    if not isinstance(effort, (int, np.integer)) or not 0 <= effort <= 3:
        raise ValueError(f"effort must be 0, 1, 2 or 3, got {effort!r}.")
    tol = as_number(tol, "tol", above=0.0)
    if isinstance(problem, ChunkedProblem):
        return _certify_stream(problem, w, b, dual, tol, effort)
    w, b = problem.hyperplane(*hyperplane_of(w, b, n_features=problem.points.shape[1]))
    objective = problem.objective(w, b)
    best = Certificate(objective, float("-inf"), "none", 1.0)
    for source, guess, cost in _ladder(problem, w, b, dual, tol, effort):
        bound, feasible, z = dual_bound(problem, guess)
        passes = best.passes + cost
        if bound > best.lower_bound:
            best = Certificate(objective, honest_bound(objective, bound), source, passes, feasible)
        else:
            best = Certificate(objective, best.lower_bound, best.source, passes, best.dual)
        if best.gap <= tol or (source == "dual" and _is_tight(problem, bound, z, b, tol)):
            break
    return best


def _certify_stream(problem: ChunkedProblem, w: Any, b: Any, dual: Dual | None, tol: float, effort: int) -> Certificate:
    """The last rung only: a stochastic solve started at (w, b)."""
    if dual is not None or effort < 3:
        raise TypeError("a stream is certified by a solve started at (w, b): leave out dual, and let effort be 3.")
    w, b = hyperplane_of(w, b)
    objective = problem.objective(w, b)
    found = solve_stochastic(problem, tol=0.5 * tol, warm_start=(w, b), random_state=0)
    bound = honest_bound(objective, found.lower_bound)
    return Certificate(objective, bound, "stochastic", found.passes + 1.0)


def _is_tight(problem: Problem, bound: float, z: Floats, b: float, tol: float) -> bool:
    """Whether the point that a dual point proposes proves its bound the best there is."""
    proposed = problem.penalty.conjugate_maximiser(z)
    if not np.isfinite(proposed).all():
        return False
    return relative_gap(problem.objective(proposed, problem.best_intercept(proposed, b)), bound) <= tol


def _ladder(
    problem: Problem, w: Floats, b: float, dual: Dual | None, tol: float, effort: int
) -> Iterator[tuple[str, Dual, float]]:
    """Dual guesses from the cheapest rung to the dearest, each with the passes it costs."""
    if dual is not None:
        yield "dual", dual, 1.0
    if effort >= 1:
        intercept = problem.best_intercept(w, b)
        yield "slopes", problem.slopes(w, intercept), 3.0
    if effort >= 2:
        for width in KINK_WIDTHS:
            guess = kink_dual(problem, w, intercept, width)
            if guess is None:
                break
            yield "kinks", guess, 2.0
    if effort >= 3:
        yield _solved(problem, w, intercept, tol)


def _solved(problem: Problem, w: Floats, b: float, tol: float) -> tuple[str, Dual, float]:
    """The dual point of a solve; where full passes do it they start at (w, b)."""
    nothing = Dual(np.zeros(len(problem.y)), np.zeros(len(problem.y)))
    name, _ = choose(problem)
    try:
        if name == "exact":
            solution = solve_exact(problem, tol=tol)
        else:
            # Half of the tolerance: the other half is for (w, b), which may be as far off as that.
            solution = solve_batch(problem, tol=0.5 * tol, warm_start=(w, b))
    except SolverFailedError as error:
        warnings.warn(f"certify: {error}", SolverWarning, 4)
        return name, nothing, 0.0
    return name, solution.dual or nothing, 0.0 if name == "exact" else solution.passes
