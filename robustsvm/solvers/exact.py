"""The exact path: the problem's cone form, solved by CVXPY, judged by our certificate."""

from __future__ import annotations

from typing import Any

from robustsvm.problem import Problem
from robustsvm.solution import Solution


def solve_exact(
    problem: Problem, *, tol: float = 1e-6, cvxpy_solver: str | None = None, **cvxpy_options: Any
) -> Solution:
    """Solve `problem` as a cone program; see `Formulation.solve` for the chain of solvers."""
    for name in ("max_passes", "warm_start", "callback"):
        if cvxpy_options.pop(name, None) is not None:
            raise TypeError(f"{name} means nothing to the exact solver; leave it out.")
    # Here, so that certificates of bare hyperplanes do without CVXPY until they need a solve.
    from robustsvm.formulations import from_problem

    return from_problem(problem).solve(cvxpy_solver, tol=tol, **cvxpy_options)
