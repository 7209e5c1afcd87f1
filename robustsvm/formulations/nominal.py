"""The nominal SVM: no uncertainty. A quadratic program."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from robustsvm.dual import Dual
from robustsvm.formulations.base import Formulation
from robustsvm.formulations.text import decision, program, required_margin
from robustsvm.losses import Hinge
from robustsvm.penalties import Ridge
from robustsvm.problem import Problem


class Nominal(Formulation):
    """See `nominal`."""

    name = "nominal"

    def _typical_radius(self) -> float:
        return 0.0

    def _loss_constraints(self) -> None:
        self._loss_constraint = self._xi >= self._frame.deficit
        self._constraints = [self._loss_constraint]

    def _stated(self) -> Problem:
        return self._restated(self._template.points, Hinge())

    def _dual(self) -> Dual:
        a = self._multipliers(self._loss_constraint)
        return Dual(a, np.zeros_like(a))

    def _latex(self) -> str:
        return program(self, [rf"y_i({decision(self)}) \ge {required_margin(self)} - \xi_i", r"\xi_i \ge 0"])


def nominal(points: Any, y: Any, *, lam: float, sample_weight: Any = None, fit_intercept: bool = True) -> Nominal:
    r"""The linear SVM on the means, which ignores the spread: what the others are compared with.

    .. math:: \min_{w,b}\ \tfrac\lambda2 \|w\|^2 + \tfrac1n \sum_i c_i \max(0,\, 1 - y_i(w^\top x_i + b))

    Parameters
    ----------
    points : UncertainPoints or array
        Points; their spread plays no part.
    y : (n,) array of -1 and +1
        Labels.
    lam : float
        Weight of the penalty; SVC's C is 1/(n lam). ``parameters["lam"]`` afterwards.
    sample_weight : (n,) array, optional
        Weights c_i, divided by their mean.
    fit_intercept : bool
        Whether b is free.

    Returns
    -------
    Formulation
        ``.solve()`` gives a certified `Solution`.

    Examples
    --------
    >>> import robustsvm as rs
    >>> f = rs.formulations.nominal([[-2.0], [-1.0], [1.0], [2.0]], [-1, -1, 1, 1], lam=0.1)
    >>> solution = f.solve()
    >>> solution.w.round(4), round(solution.objective, 4), solution.status
    (array([1.]), 0.05, 'optimal')
    """
    template = Problem(points, y, Hinge(), penalty=Ridge(lam), sample_weight=sample_weight, fit_intercept=fit_intercept)
    return Nominal(template, {"lam": cp.Parameter(pos=True, name="lam", value=float(lam))})
