"""Constraints of the user's own: what they add to a certificate, and how well an answer keeps them."""

from __future__ import annotations

from typing import Any

import numpy as np
from cvxpy.constraints.nonpos import Inequality, NonNeg, NonPos
from cvxpy.constraints.zero import Equality, Zero

from robustsvm.dual import ConstraintTerms
from robustsvm.formulations.frame import Frame

# How each kind reads: sign * expr <= 0, or expr == 0. Every other kind (cones) has no part in the bound.
_SIGNS = {Inequality: 1.0, NonPos: 1.0, NonNeg: -1.0, Equality: 0.0, Zero: 0.0}


def supported(constraint: Any, frame: Frame) -> bool:
    """Whether the constraint's multiplier can enter the bound: an (in)equality in w and b alone."""
    return type(constraint) in _SIGNS and {variable.id for variable in constraint.variables()} <= frame.variable_ids()


def unconnected(constraints: tuple[Any, ...], frame: Frame) -> list[Any]:
    """Constraints that share no variable with w and b, not even through other constraints."""
    reached, left = frame.variable_ids(), list(constraints)
    while True:
        ids = [{variable.id for variable in constraint.variables()} for constraint in left]
        touching = [not reached.isdisjoint(own) for own in ids]
        if not any(touching):
            return left
        reached = reached.union(*(own for own, touches in zip(ids, touching, strict=True) if touches))
        left = [constraint for constraint, touches in zip(left, touching, strict=True) if not touches]


def constraint_terms(constraints: tuple[Any, ...], frame: Frame, factor: float) -> ConstraintTerms:
    """The linear minorant of nu.g at the solution, in the user's units.

    A convex g lies above its tangent, so the tangent's multipliers bound the constrained optimum too.
    In the frame w = omega / units and b = beta - centre.w; `factor` is what the objective was multiplied by.
    """
    slope_omega, slope_beta, constant = np.zeros(frame.omega.size), 0.0, 0.0
    for constraint in constraints:
        if not supported(constraint, frame) or constraint.dual_value is None:
            continue
        sign = _SIGNS[type(constraint)]
        try:
            gradient = constraint.expr.grad
        except (NotImplementedError, TypeError, ValueError):  # an atom that CVXPY cannot differentiate
            continue
        if any(part is None for part in gradient.values()):
            continue
        nu = np.asarray(constraint.dual_value, np.float64).ravel(order="F")
        nu = sign * np.maximum(nu, 0.0) if sign else nu
        constant += float(np.asarray(constraint.expr.value, np.float64).ravel(order="F") @ nu)
        for variable, part in gradient.items():
            matrix = part if np.ndim(part) or (hasattr(part, "shape") and part.shape) else np.array([[part]])
            slope = np.asarray(matrix @ nu, np.float64).ravel()
            constant -= float(slope @ np.atleast_1d(variable.value).ravel())
            if variable.id == frame.omega.id:
                slope_omega += slope
            else:
                slope_beta += float(slope.sum())
    slope_w = frame.units * slope_omega + slope_beta * frame.centre
    return ConstraintTerms(slope_w / factor, slope_beta / factor, constant / factor)


def violations(constraints: tuple[Any, ...]) -> tuple[float, float]:
    """By how much the answer breaks the worst-kept constraint, as it is and relative to the constraint's two sides."""
    worst, relative = 0.0, 0.0
    for constraint in constraints:
        broken = float(np.max(constraint.violation(), initial=0.0))
        sides = [np.abs(np.asarray(side.value, np.float64)).max(initial=0.0) for side in constraint.args]
        worst, relative = max(worst, broken), max(relative, broken / max(1.0, min(sides, default=1.0)))
    return worst, relative
