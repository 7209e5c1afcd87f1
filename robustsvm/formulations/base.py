"""Formulation: a robust SVM as a CVXPY problem object that can be printed, changed and solved."""

from __future__ import annotations

import copy
import time
import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import cvxpy as cp
import numpy as np

from robustsvm.blocks import Floats
from robustsvm.dual import Dual
from robustsvm.errors import SolverFailedError, SolverWarning
from robustsvm.formulations import chain
from robustsvm.formulations.frame import Frame
from robustsvm.formulations.judge import Judged, judge, judge_constrained
from robustsvm.formulations.parameters import Parameters
from robustsvm.formulations.scaling import Scaling
from robustsvm.formulations.text import brief, plain
from robustsvm.formulations.user_constraints import constraint_terms, unconnected, violations
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
    parameters : mapping of cvxpy.Parameter
        Hyper-parameters; set ``.value`` and solve again, nothing is compiled a second time.
    cvxpy_problem : cvxpy.Problem
        The problem itself. Its objective is P(w, b) times a factor of about max(1, 1/lam), for the
        same reason.
    problem : Problem or None
        The `Problem` this formulation states at the present values of its parameters; None once
        constraints of your own were added.
    """

    name: ClassVar[str]

    def __init__(self, template: Problem, parameters: dict[str, Any]) -> None:
        self._template = template
        self.parameters = Parameters(parameters)
        self._constraints_of_user: tuple[Any, ...] = ()
        self._frame = Frame(template, self._typical_radius())
        self._scaling = Scaling(parameters.get("lam"), self._frame.typical_unit, float(self._frame.units.max()))
        self.w, self.b = self._frame.w, self._frame.b
        self._xi = cp.Variable(len(template.y), nonneg=True, name="xi")
        self._constraints: list[Any] = []
        self._loss_constraints()
        self._assemble()

    # -- building ------------------------------------------------------------------------------

    @abstractmethod
    def _typical_radius(self) -> float:
        """The radius at which the spread counts when variables are scaled."""

    @abstractmethod
    def _loss_constraints(self) -> None:
        """Fill `_constraints`, which keep xi above the losses."""

    def _assemble(self) -> None:
        average = self._template.weights / len(self._template.y)
        risk = cp.CallbackParam(self._scaling.factor, nonneg=True) * (average @ self._xi)
        constraints = [*self._constraints, *self._constraints_of_user]
        # w in the frame's units, because CVXPY makes a variable of what is squared.
        unit = self._frame.typical_unit
        w = cp.multiply(unit / self._frame.units, self._frame.omega)
        if "lam" in self.parameters:
            risk = cp.CallbackParam(self._scaling.ridge, nonneg=True) * (0.5 * cp.sum_squares(w)) + risk
        else:
            # The norm and not its square: that is linear in the parameter, so nothing is compiled again.
            constraints.append(cp.norm(w, 2) <= unit * self.parameters["norm_bound"])
        self.cvxpy_problem = cp.Problem(cp.Minimize(risk), constraints)

    def subject_to(self, *constraints: Any) -> Self:
        """The same formulation with constraints of your own on ``w`` and ``b``.

        Affine equalities and inequalities in w and b enter the certificate, and so do convex inequalities
        that have a gradient at the solution. With others (a kink there, cones, variables of your own) the
        bound is at least that of the problem without them: true, but it may not close. So write
        ``cp.abs(f.w) <= c`` as ``f.w <= c, f.w >= -c``. Parameters are shared with the original.

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
        >>> bool(free.w[1] < 0), bool(bound.w.min() > -1e-6), bound.gap < 1e-6
        (True, True, True)
        """
        for constraint in constraints:
            if not isinstance(constraint, cp.constraints.constraint.Constraint):
                raise TypeError(f"subject_to takes CVXPY constraints such as f.w >= 0, got {constraint!r}.")
        every = (*self._constraints_of_user, *constraints)
        for constraint in unconnected(every, self._frame):
            raise ValueError(f"the constraint {constraint} has nothing to do with w or b of this formulation.")
        return self._with_constraints(every)

    def _with_constraints(self, constraints: tuple[Any, ...]) -> Self:
        new = copy.copy(self)
        new._constraints_of_user = constraints
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
        return np.asarray(raw * n / (np.where(c > 0, c, 1.0) * self._scaling.factor()))

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
        self._free_bound: float | None = None
        asked = None if cvxpy_solver is None else chain.known_solver(cvxpy_solver)
        order = [name for name in (asked, *chain.CHAIN) if name is not None]
        start, attempts, best = time.perf_counter(), list[str](), None
        for solver in dict.fromkeys(order):
            options = cvxpy_options if solver == (asked or chain.CHAIN[0]) else {}
            found, outcome = self._attempt(problem, solver, options, tol)
            attempts.append(f"{solver}: {outcome}")
            if found is not None and (best is None or found.gap < best[1].gap):
                best = (solver, found)
            # A named solver's answer is taken as it is.
            if best is not None and (asked is not None or best[1].gap <= tol):
                break
        if best is None:
            raise SolverFailedError(chain.failure(self.name, attempts, constrained=bool(self._constraints_of_user)))
        solver, found = best
        self._frame.place(found.w, found.b)
        for warning in chain.warnings_of(self.name, asked, solver, attempts, found.gap, tol, self._why_open(found)):
            warnings.warn(warning, SolverWarning, stacklevel=2)
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
            violation=found.violation,
        )

    def _attempt(self, problem: Problem, solver: str, options: dict[str, Any], tol: float) -> tuple[Judged | None, str]:
        """One solver's answer, judged; None and the reason where there is none.

        Cone solvers stop on absolute tolerances, and how large the optimum is shows only afterwards: an
        answer that falls short is asked for again, in other units (see `Scaling`).
        """
        best, outcome = self._run(problem, solver, options, tol)
        if solver not in cp.installed_solvers() or (self._constraints_of_user and outcome in chain.INFEASIBLE):
            return best, outcome
        size = best.objective if best is not None and best.objective > 0 else 1.0
        for other_units in (self._scaling.order_one(size), self._scaling.larger_lam()):
            if best is not None and best.gap <= tol:
                break
            with other_units as differ:
                found, again = self._run(problem, solver, options, tol) if differ else (None, "")
            if found is not None and (best is None or found.gap < best.gap):
                best, outcome = found, f"{again}, rescaled"
        return best, outcome

    def _run(self, problem: Problem, solver: str, options: dict[str, Any], tol: float) -> tuple[Judged | None, str]:
        trouble = chain.run(self.cvxpy_problem, solver, options)
        if trouble:
            return None, trouble
        found = self._judge(problem, tol)
        return found, f"{self.cvxpy_problem.status}, gap {found.gap:.1e}"

    def _judge(self, problem: Problem, tol: float) -> Judged:
        w, b = self._frame.hyperplane()
        user = self._constraints_of_user
        if not user:
            return judge(problem, w, b, self._dual(), tol)
        terms = constraint_terms(user, self._frame, self._scaling.factor())
        kept = (problem, w, b, self._dual(), terms, violations(user))
        found = judge_constrained(*kept, free_bound=0.0)
        if tol < found.gap < np.inf:
            # Some multipliers could not be used; the optimum without any of the constraints is a bound as well.
            if self._free_bound is None:
                self._free_bound = self._with_constraints(()).solve(tol=tol).lower_bound
            found = judge_constrained(*kept, free_bound=self._free_bound)
        return found

    def _why_open(self, found: Judged) -> str:
        """What may keep the gap open, besides the solvers."""
        if found.violation > 0 and found.gap == np.inf:
            return f"The constraints are violated by {found.violation:.1e}."
        if self._constraints_of_user:
            return "The bound knows nothing of cones, of other variables, and of kinks at the solution."
        if not 1e-7 < self._frame.typical_unit < 1e7:
            return f"Features of size {self._frame.typical_unit:.0e}: bring them, and their errors, to order one."
        return ""

    # -- showing -------------------------------------------------------------------------------

    @abstractmethod
    def _latex(self) -> str:
        """Objective and constraints in LaTeX, with the present numbers."""

    def latex(self) -> str:
        """The formulation in LaTeX, with the numbers and options it has now."""
        return self._latex()

    def _repr_latex_(self) -> str:
        return f"$$\n{self._latex()}\n$$"

    def __str__(self) -> str:
        return f"{self!r}\n{plain(self._latex())}"

    def __repr__(self) -> str:
        n, d = self._template.points.shape
        values = ", ".join(f"{name}={brief(parameter.value)}" for name, parameter in self.parameters.items())
        return f"{self.name}({values}) on {n} points, {d} features"
