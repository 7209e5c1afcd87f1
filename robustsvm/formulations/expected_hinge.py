"""SVM-GSU: the expected hinge loss of Gaussian points, solved by cuts."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from robustsvm.blocks import Floats
from robustsvm.dual import Dual
from robustsvm.formulations import chain
from robustsvm.formulations.base import Formulation
from robustsvm.formulations.cones import norm_epigraph
from robustsvm.formulations.judge import Judged, polished
from robustsvm.formulations.text import decision, program, required_margin
from robustsvm.losses import ExpectedHinge
from robustsvm.penalties import Ridge
from robustsvm.problem import Problem
from robustsvm.scalars import as_flag
from robustsvm.solution import Solution

MAX_ROUNDS = 25


class ExpectedHingeSVM(Formulation):
    """See `expected_hinge`. `rounds` counts the rounds of cuts of the last solve."""

    name = "expected_hinge"
    rounds: int = 0
    _polish: bool = True

    def solve(
        self, cvxpy_solver: str | None = None, *, tol: float = 1e-6, polish: bool = True, **cvxpy_options: Any
    ) -> Solution:
        """As `Formulation.solve`; ``polish=False`` leaves the last digits to cuts alone.

        By default Newton's method finishes what a round of cuts began, where the penalty is a ridge
        and there are no constraints of the user's.
        """
        self._polish = as_flag(polish, "polish") and not self._constraints_of_user
        return super().solve(cvxpy_solver, tol=tol, **cvxpy_options)

    def _typical_radius(self) -> float:
        return 1.0

    def _loss_constraints(self) -> None:
        n, spread = len(self._template.y), self._template.points.spread
        self._norms = None
        self._m = cp.Variable(n, name="m")
        self._cuts: list[tuple[Any, Floats, Floats, Any]] = []
        constraints = [self._m == self._frame.deficit]
        if not spread.is_zero:
            self._norms = norm_epigraph(spread, self._frame.omega, self._frame.units, 2.0)
            self._s = cp.Variable(n, name="s")
            constraints += [*self._norms.constraints, self._s == spread.incidence() @ self._norms.t]
        self._constraints = constraints
        everyone = np.arange(n)
        # tau = -inf is xi >= 0, which the variable carries; tau = +inf is the hinge.
        self._add_cut(everyone, np.ones(n), np.zeros(n))
        if self._norms is not None:
            for tau in (-1.0, 0.0, 1.0):
                self._add_cut(everyone, *self._template.loss.slopes(np.full(n, tau), np.ones(n)))

    def _add_cut(self, rows: Any, a: Floats, v: Floats) -> None:
        """xi_i >= a_i m_i + v_i s_i for the samples in `rows`; (a_i, v_i) in K makes it hold at the loss."""
        chosen = sp.eye_array(len(self._template.y), format="csr")[rows]
        tangent = sp.diags_array(a) @ chosen @ self._m
        if self._norms is not None and v.any():
            tangent = tangent + sp.diags_array(v) @ chosen @ self._s
        cut = chosen @ self._xi >= tangent
        self._cuts = [*self._cuts, (rows, a, v, cut)]
        self._constraints = [*self._constraints, cut]

    def _stated(self) -> Problem:
        return self._restated(self._template.points, ExpectedHinge())

    def _dual(self) -> Dual:
        # The multipliers of a sample's cuts are non-negative and sum to at most 1, so their mixture of
        # points of the convex set K lies in K.
        n = len(self._template.y)
        share, a, v = np.zeros(n), np.zeros(n), np.zeros(n)
        for rows, slope_m, slope_s, cut in self._cuts:
            mu = self._multipliers(cut, rows)
            share[rows] += mu
            a[rows] += mu * slope_m
            v[rows] += mu * slope_s
        excess = np.maximum(share, 1.0)
        return Dual(a / excess, v / excess, None if self._norms is None else self._norms.directions())

    def _run(self, problem: Problem, solver: str, options: dict[str, Any], tol: float) -> tuple[Judged | None, str]:
        """Rounds of cuts: solve, add the tangent where each sample is, until the gap is closed."""
        best: Judged | None = None
        outcome, gaps = "", list[float]()
        for self.rounds in range(1, MAX_ROUNDS + 1):
            trouble = chain.run(self.cvxpy_problem, solver, options)
            if trouble:
                return best, f"{trouble} in round {self.rounds}"
            found = self._judge(problem, tol)
            if found.gap > tol and self._polish:
                found = polished(problem, found, tol)
            gaps.append(found.gap)
            if best is None or found.gap < best.gap:
                best = found
            outcome = f"{self.cvxpy_problem.status}, gap {best.gap:.1e} after {self.rounds} rounds"
            stalled = self.rounds > 5 and best.gap > 0.5 * min(gaps[:-4])
            if best.gap <= tol or stalled or not self._cut_at(problem, found):
                break
        return best, outcome

    def _cut_at(self, problem: Problem, found: Judged) -> bool:
        """Add tangents where the cuts so far lie below the loss; False when there is nothing to add."""
        m, s = problem.margins_and_spreads(found.w, found.b)
        model = np.zeros(len(m))
        for rows, slope_m, slope_s, _ in self._cuts:
            model[rows] = np.maximum(model[rows], slope_m * m[rows] + slope_s * s[rows])
        missing = problem.loss.value(m, s) - model
        rows = np.flatnonzero(missing > 1e-9 * max(found.objective, 1e-300))
        if self._norms is None or not len(rows):
            return False
        a, v = problem.loss.slopes(m[rows], s[rows])
        self._add_cut(rows, a, v)
        self._assemble()
        return True

    def _latex(self) -> str:
        loss = r"m_i \Phi\!\left(\tfrac{m_i}{s_i}\right) + s_i \varphi\!\left(\tfrac{m_i}{s_i}\right) \le \xi_i"
        deficit = rf"m_i = {required_margin(self)} - y_i({decision(self)}),\quad s_i = \|A_i^\top w\|_2"
        return program(self, [loss, deficit])


def expected_hinge(
    points: Any, y: Any, *, lam: float, sample_weight: Any = None, fit_intercept: bool = True
) -> ExpectedHingeSVM:
    r"""SVM with Gaussian sample uncertainty (SVM-GSU, [GSU]_ equation 6): the hinge in expectation.

    .. math::

        \min_{w,b}\ \tfrac\lambda2 \|w\|^2 + \tfrac1n \sum_i c_i \,
        \mathrm E \max(0,\, 1 - y_i(w^\top \tilde x_i + b)), \qquad \tilde x_i \sim \mathcal N(x_i, \Sigma_i)

    The expectation is :math:`m \Phi(m/s) + s \varphi(m/s)`, the upper envelope of its tangents
    :math:`\Phi(\tau) m + \varphi(\tau) s`. A few tangents per sample make a second-order cone program
    below the problem; each round adds the tangent at the present point, until the certificate closes.
    Newton's method takes the last digits where it can (``solve(polish=False)`` does without).
    ``cvxpy_problem`` is the program with the cuts so far, and they are kept: after a change of lam the
    next solve starts with them.

    Parameters
    ----------
    points : UncertainPoints
        Gaussian points; p must be 2.
    y : (n,) array of -1 and +1
        Labels.
    lam : float
        Weight of the penalty. ``parameters["lam"]`` afterwards.
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
    .. [GSU] Tzelepis, Mezaris and Patras, Linear Maximum Margin Classifier for Learning from
       Uncertain Data, IEEE TPAMI 2018.

    Examples
    --------
    >>> import robustsvm as rs
    >>> pts = rs.UncertainPoints([[-2.0], [-1.0], [1.0], [2.0]], std=0.5)
    >>> solution = rs.formulations.expected_hinge(pts, [-1, -1, 1, 1], lam=0.1).solve()
    >>> solution.w.round(3), solution.gap < 1e-6
    (array([1.127]), True)
    """
    template = Problem(
        points, y, ExpectedHinge(), penalty=Ridge(lam), sample_weight=sample_weight, fit_intercept=fit_intercept
    )
    return ExpectedHingeSVM(template, {"lam": cp.Parameter(pos=True, name="lam", value=float(lam))})
