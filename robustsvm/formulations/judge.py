"""From a cone solver's answer to a certified one: the best primal and the best dual point it implies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from robustsvm.blocks import Floats
from robustsvm.dual import Dual, dual_bound
from robustsvm.kinks import kink_dual
from robustsvm.newton import is_smooth, newton_polish
from robustsvm.penalties import Ball
from robustsvm.problem import Problem
from robustsvm.solution import honest_bound, relative_gap

if TYPE_CHECKING:
    from robustsvm.formulations.base import Formulation


@dataclass(frozen=True)
class Judged:
    """A hyperplane, its objective, a bound, and the passes that took."""

    w: Floats
    b: float
    objective: float
    lower_bound: float
    dual: Dual | None
    passes: float

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return relative_gap(self.objective, self.lower_bound)


def judge(problem: Problem, w: Floats, b: float, dual: Dual, tol: float) -> Judged:
    """The certificate of a solver's answer, improved by what costs a few passes.

    The intercept is set to its best value for w; the directions are tried as the multipliers give
    them and as w does; and where the gap is still open, the hyperplane that the dual point proposes
    and w = 0 compete with the solver's, and kink least squares has a try.
    """
    if isinstance(problem.penalty, Ball):
        w = problem.penalty.prox(w, 1.0)
    b = problem.best_intercept(w, b)
    candidates = [dual_bound(problem, guess) for guess in (dual, replace(dual, e=None, witness=w))]
    bound, feasible, z = max(candidates, key=lambda candidate: candidate[0])
    objective = problem.objective(w, b)
    passes = 4.0
    if relative_gap(objective, bound) > tol:
        # What the dual point proposes, and w = 0, which large sets make optimal and interior points only approach.
        for proposed in (problem.penalty.conjugate_maximiser(z), np.zeros_like(w)):
            intercept = problem.best_intercept(proposed, b)
            value = problem.objective(proposed, intercept)
            if value < objective:
                w, b, objective = proposed, intercept, value
            passes += 2.0
    for width in (1e-7, 1e-5, 1e-3):
        if relative_gap(objective, bound) <= tol:
            break
        guess = kink_dual(problem, w, b, width)
        if guess is None:
            break
        value, candidate, _ = dual_bound(problem, guess)
        if value > bound:
            bound, feasible = value, candidate
        passes += 2.0
    return Judged(w, b, objective, honest_bound(objective, bound), feasible, passes)


def polished(problem: Problem, found: Judged) -> Judged:
    """`found` after Newton's method, where the problem is smooth there; never worse."""
    if not is_smooth(problem, found.w):
        return found
    w, b, steps = newton_polish(problem, found.w, found.b)
    b = problem.best_intercept(w, b)
    objective = problem.objective(w, b)
    bound, feasible, _ = dual_bound(problem, problem.slopes(w, b))
    best = found if found.lower_bound >= bound else replace(found, lower_bound=bound, dual=feasible)
    if objective < best.objective:
        best = replace(best, w=w, b=b, objective=objective)
    bound = honest_bound(best.objective, best.lower_bound)
    return replace(best, lower_bound=bound, passes=found.passes + 2.0 * steps + 4.0)


def affine_terms(formulation: Formulation) -> tuple[Floats, float]:
    """G^T nu and -nu.h of the user's affine constraints G w <= h with their multipliers nu.

    Constraints that are not affine, or that touch b or variables of the user's own, contribute
    nothing: nu = 0 is always feasible.
    """
    omega = formulation._omega
    shift, offset = np.zeros(omega.size), 0.0
    for constraint in formulation._constraints_of_user:
        expression = getattr(constraint, "expr", None)
        if expression is None or constraint.dual_value is None or not expression.is_affine():
            continue
        if {variable.id for variable in expression.variables()} != {omega.id}:
            continue
        nu = np.asarray(constraint.dual_value, np.float64).ravel(order="F")
        if not _is_equality(constraint):
            nu = np.maximum(nu, 0.0)
        gradient: Any = expression.grad[omega]
        slope = np.asarray(gradient @ nu).ravel()
        constant = float(np.asarray(expression.value).ravel(order="F") @ nu - slope @ omega.value)
        # w = omega / units: a slope in omega is units times a slope in w.
        shift += formulation._units * slope
        offset += constant
    factor = formulation._objective_factor()
    return shift / factor, offset / factor


def _is_equality(constraint: Any) -> bool:
    return type(constraint).__name__ in ("Equality", "Zero")


def judge_constrained(problem: Problem, w: Floats, b: float, dual: Dual, terms: tuple[Floats, float]) -> Judged:
    """As `judge`, for a problem with the user's constraints: (w, b) is kept as it is, being feasible."""
    guesses = [(guess, part) for guess in (dual, replace(dual, e=None, witness=w)) for part in (terms, None)]
    candidates = [dual_bound(problem, guess, part) for guess, part in guesses]
    bound, feasible, _ = max(candidates, key=lambda candidate: candidate[0])
    objective = problem.objective(w, b)
    # The solver may violate its constraints by a hair, and its objective then lies that much too low.
    return Judged(w, b, objective, min(bound, objective), feasible, 5.0)
