"""Formulations: CVXPY problem objects for small data, one file each."""

from __future__ import annotations

import cvxpy as cp

from robustsvm.formulations.base import Formulation
from robustsvm.formulations.chance_constrained import chance_constrained, kappa
from robustsvm.formulations.expected_hinge import ExpectedHingeSVM, expected_hinge
from robustsvm.formulations.nominal import Nominal, nominal
from robustsvm.formulations.worst_case import WorstCaseSVM, worst_case
from robustsvm.losses import ExpectedHinge, Hinge, WorstCase
from robustsvm.penalties import Ball, Ridge
from robustsvm.problem import Problem

__all__ = [
    "Formulation",
    "chance_constrained",
    "expected_hinge",
    "from_problem",
    "kappa",
    "nominal",
    "worst_case",
]

CONIC_FORMS: dict[type, type[Formulation]] = {
    Hinge: Nominal,
    WorstCase: WorstCaseSVM,
    ExpectedHinge: ExpectedHingeSVM,
}


def from_problem(problem: Problem) -> Formulation:
    """The formulation that states `problem`: its loss as cones, its penalty as it is."""
    form = CONIC_FORMS.get(type(problem.loss))
    if form is None:
        known = ", ".join(loss.__name__ for loss in CONIC_FORMS)
        raise TypeError(f"{problem.loss!r} has no conic form; those with one: {known}.")
    parameters = {}
    if isinstance(problem.penalty, Ridge):
        parameters["lam"] = cp.Parameter(pos=True, name="lam", value=problem.penalty.lam)
    elif isinstance(problem.penalty, Ball):
        parameters["norm_bound"] = cp.Parameter(pos=True, name="norm_bound", value=problem.penalty.radius)
    else:
        raise TypeError(f"{problem.penalty!r} has no conic form; those with one: Ridge, Ball.")
    if isinstance(problem.loss, WorstCase):
        parameters["gamma"] = cp.Parameter(nonneg=True, name="gamma", value=problem.loss.gamma)
    return form(problem, parameters)
