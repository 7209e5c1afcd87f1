"""The worst-case robust SVM: every point anywhere in its set, any p-norm."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from robustsvm.checks import as_per_sample
from robustsvm.dual import Dual
from robustsvm.formulations.base import Formulation
from robustsvm.formulations.cones import norm_epigraph
from robustsvm.formulations.text import decision, dual_norm, number, program, required_margin
from robustsvm.losses import Hinge, WorstCase
from robustsvm.penalties import Ridge
from robustsvm.problem import Problem


class WorstCaseSVM(Formulation):
    """See `worst_case`."""

    name = "worst_case"

    def _radius(self) -> Any:
        """The CVXPY parameter that multiplies the spread: scalar, or one per sample."""
        return self.parameters["gamma"]

    def _typical_radius(self) -> float:
        return float(np.sqrt(np.mean(np.square(self._radius().value))))

    def _loss_constraints(self) -> None:
        spread = self._template.points.spread
        loss, constraints = self._frame.deficit, []
        self._norms = None
        if not spread.is_zero:
            self._norms = norm_epigraph(spread, self._frame.omega, self._frame.units, self._template.points.q)
            radius = self._radius()
            seen = spread.incidence() @ self._norms.t
            loss = loss + (cp.multiply(radius, seen) if radius.ndim else radius * seen)
            constraints = self._norms.constraints
        self._loss_constraint = self._xi >= loss
        self._constraints = [self._loss_constraint, *constraints]

    def _stated(self) -> Problem:
        radius = as_per_sample(self._radius().value, len(self._template.y), "gamma")
        if radius.ndim:
            return self._restated(self._template.points.scaled(radius), WorstCase(1.0))
        return self._restated(self._template.points, WorstCase(float(radius)))

    def _dual(self) -> Dual:
        a = self._multipliers(self._loss_constraint)
        radius = np.asarray(self._radius().value)
        v = a if radius.ndim else float(radius) * a
        if self._norms is None:
            return Dual(a, v)
        return Dual(a, v, self._norms.directions())

    def _latex(self) -> str:
        return program(self, [self._robust_constraint(), r"\xi_i \ge 0"])

    def _robust_constraint(self) -> str:
        value, norm = self._radius().value, rf"\|A_i^\top w\|_{{{dual_norm(self._template.points.p)}}}"
        several = np.ndim(value) > 0
        radius = r"\gamma_i " if several else "" if float(value) == 1.0 else f"{number(value)} "
        note = rf",\quad \gamma_i \in {number(value)}" if several else ""
        return rf"y_i({decision(self)}) - {radius}{norm} \ge {required_margin(self)} - \xi_i{note}"


def worst_case(
    points: Any, y: Any, *, lam: float, gamma: Any = 1.0, sample_weight: Any = None, fit_intercept: bool = True
) -> WorstCaseSVM:
    r"""The robust SVM of [CJ]_ (equations 5 and 6): the hinge at the worst point of every set.

    .. math::

        \min_{w,b}\ \tfrac\lambda2 \|w\|^2 + \tfrac1n \sum_i c_i
        \max(0,\, 1 - y_i(w^\top x_i + b) + \gamma \|A_i^\top w\|_q), \qquad \tfrac1p + \tfrac1q = 1

    A second-order cone program for p = 2, a quadratic program for p = 1 and infinity, power cones
    otherwise.

    Parameters
    ----------
    points : UncertainPoints
        Points with their sets x_i + {A_i u : ||u||_p <= gamma}; p belongs to the points.
    y : (n,) array of -1 and +1
        Labels.
    lam : float
        Weight of the penalty. ``parameters["lam"]`` afterwards.
    gamma : float or (n,) array
        Radius of the sets, one for all or one per sample. ``parameters["gamma"]`` afterwards.
    sample_weight : (n,) array, optional
        Weights c_i, divided by their mean.
    fit_intercept : bool
        Whether b is free.

    Returns
    -------
    Formulation
        ``.solve()`` gives a certified `Solution`.

    References
    ----------
    .. [CJ] Couellan and Jan, Feature uncertainty bounding schemes for large robust nonlinear SVM
       classifiers, arXiv:1706.09795.

    Examples
    --------
    >>> import robustsvm as rs
    >>> pts = rs.UncertainPoints([[-2.0], [-1.0], [1.0], [2.0]], std=0.5)
    >>> f = rs.formulations.worst_case(pts, [-1, -1, 1, 1], lam=0.1, gamma=1.0)
    >>> f.solve().w.round(4)
    array([2.])
    >>> f.parameters["gamma"].value = 0.0
    >>> f.solve().w.round(4)
    array([1.])
    """
    template = Problem(points, y, Hinge(), penalty=Ridge(lam), sample_weight=sample_weight, fit_intercept=fit_intercept)
    radius = as_per_sample(gamma, len(template.y), "gamma")
    if (radius < 0).any():
        raise ValueError(f"gamma must be >= 0, got {radius.min():g}.")
    parameters = {
        "lam": cp.Parameter(pos=True, name="lam", value=float(lam)),
        "gamma": cp.Parameter(radius.shape, nonneg=True, name="gamma", value=radius),
    }
    return WorstCaseSVM(template, parameters)
