"""Solvers: `solve` takes a Problem to a certified Solution."""

from __future__ import annotations

from typing import Any

from robustsvm.problem import Problem
from robustsvm.solution import Solution
from robustsvm.solvers.exact import solve_exact

SOLVERS = {"exact": solve_exact}


def solve(problem: Problem, solver: str = "auto", *, tol: float = 1e-6, **params: Any) -> Solution:
    """Minimise the objective of `problem` and prove how close the answer is.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    solver : {"auto", "exact"}
        "exact": a cone program through CVXPY; ``cvxpy_solver="ECOS"`` and the like choose which
        cone solver. "auto" chooses for you.
    tol : float
        Relative duality gap at which the solution is called optimal.
    **params
        Options of the solver.

    Returns
    -------
    Solution

    Examples
    --------
    >>> import robustsvm as rs
    >>> pts = rs.UncertainPoints([[-2.0], [-1.0], [1.0], [2.0]], std=0.5)
    >>> problem = rs.Problem(pts, [-1, -1, 1, 1], rs.losses.WorstCase(gamma=1.0), lam=0.1)
    >>> solution = rs.solve(problem)
    >>> round(solution.objective, 4), solution.gap < 1e-6, solution.solver
    (0.2, True, 'exact')
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"solve takes a Problem, got {type(problem).__name__}; a formulation has its own .solve().")
    if not isinstance(solver, str) or solver not in ("auto", *SOLVERS):
        names = ", ".join(["auto", *SOLVERS])
        raise ValueError(f'solver must be one of {names}, got {solver!r}; cvxpy_solver="ECOS" chooses a cone solver.')
    return SOLVERS["exact" if solver == "auto" else solver](problem, tol=tol, **params)
