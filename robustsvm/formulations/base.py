"""Formulation: a robust SVM as a CVXPY problem object that can be printed, changed and solved."""

from __future__ import annotations

import copy
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from robustsvm.blocks import Floats, column_means
from robustsvm.dual import Dual
from robustsvm.errors import SolverFailedError, SolverWarning
from robustsvm.formulations import chain, judge
from robustsvm.losses import Loss
from robustsvm.penalties import Ball, Penalty, Ridge
from robustsvm.points import UncertainPoints
from robustsvm.problem import Problem
from robustsvm.scalars import as_number
from robustsvm.solution import Solution, Step, installed_versions


class Formulation(ABC):
    r"""A formulation as a CVXPY problem, with the certificate that CVXPY does not give.

    Attributes
    ----------
    w, b : CVXPY expressions
        The hyperplane in the user's units. The variables behind them live in units of each feature
        (centred, divided by its root mean square), because cone solvers stop on absolute tolerances.
    parameters : dict of cvxpy.Parameter
        Hyper-parameters; set ``.value`` and solve again, nothing is compiled a second time.
    cvxpy_problem : cvxpy.Problem
        The problem itself. Its objective is P(w, b) times max(1, 1/lam), for the same reason.
    problem : Problem or None
        The `Problem` this formulation states at the present values of its parameters; None once
        constraints of your own were added.
    """

    name: ClassVar[str]

    def __init__(self, template: Problem, parameters: dict[str, Any]) -> None:
        self._template = template
        # Their values may change; the parameters themselves are built into the problem.
        self.parameters: Mapping[str, Any] = MappingProxyType(parameters)
        self._constraints_of_user: tuple[Any, ...] = ()
        # Shared with the copies that `subject_to` makes, because the CVXPY parameters are.
        self._boost = {"value": 1.0}
        self._scale_variables()
        self._penalty_terms()
        self._loss_constraints()
        self._assemble()

    # -- building ------------------------------------------------------------------------------

    def _scale_variables(self) -> None:
        template = self._template
        X, n, d = template.points.means, *template.points.shape
        sparse = sp.issparse(X)
        centred = template.fit_intercept and not sparse
        self._centre = column_means(X, np.asarray) if centred else np.zeros(d)
        squares = column_means(X, lambda x: x**2 if not sparse else x.power(2)) - self._centre**2
        if centred:
            squares = column_means(X, lambda x: (x - self._centre) ** 2)
        units = np.sqrt(squares + template.points.spread.mean_variances())
        self._units: Floats = np.where(units > 0, units, 1.0)
        self._omega = cp.Variable(d, name="omega")
        self._beta = cp.Variable(name="beta") if template.fit_intercept else cp.Constant(0.0)
        self.w = cp.multiply(1.0 / self._units, self._omega)
        self.b = self._beta - (self._centre / self._units) @ self._omega if centred else self._beta
        if sparse:
            data = sp.csr_array(X.astype(np.float64) @ sp.diags_array(1.0 / self._units))
        else:
            data = (np.asarray(X, np.float64) - self._centre) / self._units
        self._deficit = template.margin - cp.multiply(template.y, data @ self._omega + self._beta)
        self._xi = cp.Variable(n, nonneg=True, name="xi")

    def _penalty_terms(self) -> None:
        # P times max(1, 1/lam): an objective of order one for every lam, so that a solver's absolute
        # tolerances mean the same from lam = 1e-8 (where the plain form left a gap of 0.4) to 1e4.
        if "lam" in self.parameters:
            ridge = cp.CallbackParam(self._ridge_factor, nonneg=True)
            self._penalty = ridge * (0.5 * cp.sum_squares(self.w))
            self._penalty_constraints: list[Any] = []
        else:
            self._penalty = cp.Constant(0.0)
            self._penalty_constraints = [cp.norm(self.w, 2) <= self.parameters["norm_bound"]]

        self._risk_factor = cp.CallbackParam(self._objective_factor, nonneg=True)

    def _objective_factor(self) -> float:
        lam = float(self.parameters["lam"].value) if "lam" in self.parameters else 1.0
        return max(1.0, 1.0 / lam) * self._boost["value"]

    def _ridge_factor(self) -> float:
        return float(self.parameters["lam"].value) * self._objective_factor()

    @abstractmethod
    def _loss_constraints(self) -> None:
        """Set `_constraints`, which keep xi above the losses."""

    _constraints: list[Any]

    def _assemble(self) -> None:
        average = self._template.weights / len(self._template.y)
        objective = cp.Minimize(self._penalty + self._risk_factor * (average @ self._xi))
        constraints = [*self._constraints, *self._penalty_constraints, *self._constraints_of_user]
        self.cvxpy_problem = cp.Problem(objective, constraints)

    def subject_to(self, *constraints: Any) -> Self:
        """The same formulation with constraints of your own on ``w`` and ``b``.

        Affine ones on w enter the certificate; with others the bound is that of the problem without
        them: true, but it may not close.

        Examples
        --------
        Non-negative weights:

        >>> import numpy as np
        >>> import robustsvm as rs
        >>> rng = np.random.default_rng(0)
        >>> y = np.repeat([-1, 1], 20)
        >>> X = rng.normal(size=(40, 2)) + np.outer(y, [1.0, -0.2])
        >>> f = rs.formulations.worst_case(rs.UncertainPoints(X, std=0.1), y, lam=0.1)
        >>> positive = f.subject_to(f.w >= 0)
        >>> free, bound = f.solve(), positive.solve()
        >>> bool(free.w[1] < 0), bool(bound.w.min() > -1e-6), bool(bound.gap < 1e-6)
        (True, True, True)
        """
        for constraint in constraints:
            if not isinstance(constraint, cp.constraints.constraint.Constraint):
                raise TypeError(f"subject_to takes CVXPY constraints such as f.w >= 0, got {constraint!r}.")
        new = copy.copy(self)
        new._constraints_of_user = (*self._constraints_of_user, *constraints)
        new._constraints = list(self._constraints)
        new._assemble()
        return new

    # -- reading -------------------------------------------------------------------------------

    @property
    def problem(self) -> Problem | None:
        """The `Problem` stated at the present parameter values."""
        return None if self._constraints_of_user else self._stated()

    @abstractmethod
    def _stated(self) -> Problem:
        """The `Problem` without the user's constraints."""

    def _restated(self, points: UncertainPoints, loss: Loss) -> Problem:
        """The template's data with these points and this loss, and the penalty as it is now."""
        template, parameters = self._template, self.parameters
        for name, parameter in parameters.items():
            if parameter.value is None:
                raise ValueError(f"parameters[{name!r}] has no value.")
        if "lam" in parameters:
            penalty: Penalty = Ridge(float(parameters["lam"].value))
        else:
            penalty = Ball(float(parameters["norm_bound"].value))
        return Problem(
            points,
            template.y,
            loss,
            penalty=penalty,
            sample_weight=template.weights,
            fit_intercept=template.fit_intercept,
            margin=template.margin,
        )

    @abstractmethod
    def _dual(self) -> Dual:
        """The multipliers of the last solve as a dual point of `_stated()`."""

    def _multipliers(self, constraint: Any, rows: Any = slice(None)) -> Floats:
        """a_i from the multiplier of ``xi >= loss``: undo objective factor, average and weight."""
        n, c = len(self._template.y), self._template.weights[rows]
        raw = np.maximum(np.asarray(constraint.dual_value, np.float64), 0.0)
        return np.asarray(raw * n / (np.where(c > 0, c, 1.0) * self._objective_factor()))

    # -- solving -------------------------------------------------------------------------------

    def solve(self, cvxpy_solver: str | None = None, *, tol: float = 1e-6, **cvxpy_options: Any) -> Solution:
        """Solve, judge, and say what happened.

        Parameters
        ----------
        cvxpy_solver : str, optional
            A solver of CVXPY. By default the chain Clarabel, ECOS (if installed and able), SCS is
            followed until one reaches `tol`; a solver asked for by name is followed by the chain only
            if it is missing or fails, with a warning.
        tol : float
            The relative gap at which the solution is called optimal.
        **cvxpy_options
            Passed on to ``cvxpy.Problem.solve``; they belong to the solver asked for, or to Clarabel.

        Returns
        -------
        Solution
            Objective, bound and gap are recomputed from the problem in the user's units.
        """
        tol = as_number(tol, "tol", above=0.0)
        if "solver" in cvxpy_options:
            raise TypeError(f"a cone solver is named by cvxpy_solver={cvxpy_options['solver']!r}, not by solver.")
        if "verbose" in cvxpy_options:
            cvxpy_options["verbose"] = bool(cvxpy_options["verbose"])
        problem = self._stated()  # also checks the parameters as they are now
        asked = None if cvxpy_solver is None else chain.known_solver(cvxpy_solver)
        order = [name for name in (asked, *chain.CHAIN) if name is not None]
        start, attempts, best = time.perf_counter(), [], None
        for solver in dict.fromkeys(order):
            options = cvxpy_options if solver == (asked or chain.CHAIN[0]) else {}
            found, outcome = self._attempt(problem, solver, options, tol)
            attempts.append(f"{solver}: {outcome}")
            if found is not None and (best is None or found.gap < best[1].gap):
                best = (solver, found)
            # A named solver's answer is taken as it is, and so is one that more solving cannot certify.
            if best is not None and (asked is not None or self._constraints_of_user or best[1].gap <= tol):
                break
        if best is None:
            raise SolverFailedError(self._failure(attempts))
        solver, found = best
        self._set_values(found.w, found.b)
        self._warn(asked, solver, attempts, found.gap, tol)
        seconds = time.perf_counter() - start
        return Solution(
            w=found.w,
            b=found.b,
            objective=found.objective,
            lower_bound=found.lower_bound,
            status="optimal" if found.gap <= tol else "tolerance_not_reached",
            solver="exact",
            passes=found.passes,
            seconds=seconds,
            history=[Step(found.passes, seconds, found.objective, found.lower_bound)],
            dual=found.dual,
            cvxpy_solver=solver,
            versions=installed_versions("robustsvm", "cvxpy", solver.lower(), "numpy", "scipy"),
            attempts=tuple(attempts),
        )

    def _set_values(self, w: Floats, b: float) -> None:
        """Let ``f.w.value`` and ``f.b.value`` be the answer that is reported."""
        self._omega.value = self._units * w
        if self._template.fit_intercept:
            self._beta.value = b + float(self._centre @ w)

    def _attempt(
        self, problem: Problem, solver: str, options: dict[str, Any], tol: float
    ) -> tuple[judge.Judged | None, str]:
        """One solver's answer, judged; None and the reason where there is none.

        Cone solvers stop on absolute tolerances, and how large the optimum is shows only afterwards: an
        answer that falls short is asked for once more with the objective brought to order one.
        """
        best, outcome = self._run(problem, solver, options, tol)
        if best is not None and best.gap > tol and best.objective > 0 and not self._constraints_of_user:
            boost = 1.0 / (best.objective * self._objective_factor())
            if not 0.1 < boost < 10.0:
                try:
                    self._boost["value"] = boost
                    again, outcome_again = self._run(problem, solver, options, tol)
                finally:
                    self._boost["value"] = 1.0
                if again is not None and again.gap < best.gap:
                    best, outcome = again, f"{outcome_again}, rescaled"
        return best, outcome

    def _run(
        self, problem: Problem, solver: str, options: dict[str, Any], tol: float
    ) -> tuple[judge.Judged | None, str]:
        trouble = chain.run(self.cvxpy_problem, solver, options)
        if trouble:
            return None, trouble
        found = self._judge(problem, tol)
        return found, f"{self.cvxpy_problem.status}, gap {found.gap:.1e}"

    def _judge(self, problem: Problem, tol: float) -> judge.Judged:
        w = np.asarray(self.w.value, np.float64)
        b = float(self.b.value) if problem.fit_intercept else 0.0
        if self._constraints_of_user:
            return judge.judge_constrained(problem, w, b, self._dual(), judge.affine_terms(self))
        return judge.judge(problem, w, b, self._dual(), tol)

    def _failure(self, attempts: list[str]) -> str:
        tried = "; ".join(attempts)
        if self._constraints_of_user and any(name in tried for name in chain.INFEASIBLE):
            return f"{self.name}: no hyperplane meets the constraints given to subject_to ({tried})."
        return (
            f"{self.name}: every solver failed ({tried}). Try a larger lam, features on comparable scales, "
            "the extra solver of robustsvm[ecos], or verbose=True to read the solver's own log."
        )

    def _warn(self, asked: str | None, used: str, attempts: list[str], gap: float, tol: float) -> None:
        first, tried = asked or chain.CHAIN[0], "; ".join(attempts)
        if used != first and "gap" not in attempts[0]:
            warnings.warn(f"{self.name}: {first} gave no answer, {used} was used ({tried}).", SolverWarning, 3)
        if gap > tol:
            why = " Only affine constraints on w enter the bound." if self._constraints_of_user else ""
            warnings.warn(f"{self.name}: gap {gap:.1e} is above tol {tol:.1e} ({tried}).{why}", SolverWarning, 3)

    # -- showing -------------------------------------------------------------------------------

    @abstractmethod
    def _latex(self) -> str:
        """Objective and constraints in LaTeX, with the present numbers."""

    def _repr_latex_(self) -> str:
        return f"$$\n{self._latex()}\n$$"

    def __str__(self) -> str:
        n, d = self._template.points.shape
        values = ", ".join(f"{name}={_short(parameter.value)}" for name, parameter in self.parameters.items())
        return f"{self.name}({values}) on {n} points, {d} features\n{self.cvxpy_problem}"

    def __repr__(self) -> str:
        return str(self).splitlines()[0]


def _short(value: Any) -> str:
    if value is None:
        return "?"
    value = np.asarray(value)
    return f"{float(value):g}" if value.ndim == 0 else f"{value.min():g}..{value.max():g}"
