"""From a cone solver's answer to a certified one: the best primal and the best dual point it implies."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robustsvm.blocks import Floats
from robustsvm.dual import ConstraintTerms, Dual, dual_bound, dual_vector
from robustsvm.kinks import kink_dual
from robustsvm.newton import newton_path
from robustsvm.penalties import Ball
from robustsvm.problem import Problem
from robustsvm.solution import honest_bound, relative_gap


@dataclass(frozen=True)
class Judged:
    """A hyperplane, its objective, a bound, and the passes that took."""

    w: Floats
    b: float
    objective: float
    lower_bound: float
    dual: Dual | None
    passes: float
    violation: float = 0.0

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return relative_gap(self.objective, self.lower_bound)

    def with_point(self, problem: Problem, w: Floats, b: float) -> Judged:
        """Itself, or (w, b) with its best intercept where that is better."""
        b = problem.best_intercept(w, b)
        objective = problem.objective(w, b)
        better = self if objective >= self.objective else replace(self, w=w, b=b, objective=objective)
        return replace(better, passes=better.passes + 2.0)

    def a_hair_longer(self, problem: Problem) -> Judged:
        """Itself, or (w, b) longer by a little more than rounding: margins that are met then count as met."""
        stretch = 1.0 + 4.0 * sum(problem.margin_rounding(self.w, self.b))
        longer, b = problem.penalty.prox(self.w * stretch, 0.0), self.b * stretch
        objective = problem.objective(longer, b)
        better = self if objective >= self.objective else replace(self, w=longer, b=b, objective=objective)
        return replace(better, passes=better.passes + 1.0)

    def with_dual(self, problem: Problem, dual: Dual) -> Judged:
        """Itself, or with the bound that `dual` gives where that is higher."""
        bound, feasible, _ = dual_bound(problem, dual)
        better = self if bound <= self.lower_bound else replace(self, lower_bound=bound, dual=feasible)
        return replace(better, passes=better.passes + 1.0)

    def checked(self) -> Judged:
        """Itself, once its bound is seen not to exceed its objective."""
        return replace(self, lower_bound=honest_bound(self.objective, self.lower_bound))


def judge(problem: Problem, w: Floats, b: float, dual: Dual, tol: float) -> Judged:
    """The certificate of a solver's answer, improved by what costs a few passes.

    The intercept is set to its best value for w; the directions are tried as the multipliers give
    them and as w does; and where the gap is still open, the hyperplane that the dual point proposes
    and w = 0 compete with the solver's, and kink least squares has a try.
    """
    if isinstance(problem.penalty, Ball):
        w = problem.penalty.prox(w, 1.0)
    found = Judged(w, b, float("inf"), 0.0, None, 0.0).with_point(problem, w, b)
    for guess in (dual, replace(dual, e=None, witness=w)):
        found = found.with_dual(problem, guess)
    if found.gap > tol:
        # Large sets make w = 0 optimal, and interior points only approach it.
        found = found.with_point(problem, np.zeros_like(w), b)
        found = found.a_hair_longer(problem)
    for width in (1e-7, 1e-5, 1e-3):
        found = _from_each_other(problem, found, width, tol)
    return found.checked()


def _from_each_other(problem: Problem, found: Judged, width: float, tol: float) -> Judged:
    """Where the gap is open: the point that the dual proposes, then the dual that kinks at the point propose."""
    if found.gap <= tol:
        return found
    if found.dual is not None:
        proposed = problem.penalty.conjugate_maximiser(dual_vector(problem, found.dual))
        if np.isfinite(proposed).all():
            found = found.with_point(problem, proposed, found.b)
    guess = kink_dual(problem, found.w, found.b, width)
    found = found if guess is None else found.with_dual(problem, guess)
    return found.a_hair_longer(problem)


def polished(problem: Problem, found: Judged, tol: float) -> Judged:
    """`found` after Newton's method, where that applies; never worse."""
    smallest = 0.5 * tol * found.objective
    for w, b, dual, steps in newton_path(problem, found.w, found.b, smallest):
        found = found.with_point(problem, w, b).with_dual(problem, dual)
        found = replace(found, passes=found.passes + 2.0 * steps)
        if found.gap <= tol:
            break
    return found.checked()


def judge_constrained(
    problem: Problem,
    w: Floats,
    b: float,
    dual: Dual,
    terms: ConstraintTerms,
    violations: tuple[float, float],
    free_bound: float,
) -> Judged:
    """As `judge`, for a problem with the user's constraints: (w, b) is kept as it is.

    `free_bound` is a bound for the problem without the constraints. An answer that breaks them by more
    than rounding, or that lies below what is possible with them, proves nothing: its gap is infinity.
    """
    objective = problem.objective(w, b)
    violation, relative = violations
    bound, feasible = free_bound, None
    for guess in (dual, replace(dual, e=None, witness=w)):
        value, candidate, _ = dual_bound(problem, guess, terms)
        if value > bound:
            bound, feasible = value, candidate
    if relative > 1e-6 or relative_gap(objective, bound) < -1e-5:
        return Judged(w, b, objective, float("-inf"), None, 4.0, violation)
    # Within that rounding the objective may lie a little below the optimum, and below a true bound.
    return Judged(w, b, objective, min(bound, objective), feasible, 4.0, violation)
