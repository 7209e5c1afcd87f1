"""Calling cone solvers: a documented chain, and no trust in what any of them says."""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy as cp

CHAIN = ("CLARABEL", "ECOS", "SCS")
"""Tried in this order. ECOS only where it is installed (the extra ``ecos``) and there is no power cone."""

OPTIONS: dict[str, dict[str, Any]] = {
    # An "insufficient progress" of Clarabel is often good to 1e-9: our own gap judges it.
    "CLARABEL": {"accept_unknown": True},
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 100_000},
}

INFEASIBLE = (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE, cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE)


def known_solver(name: str) -> str:
    """The CVXPY name of a solver, whether or not it is installed."""
    upper = str(name).upper()
    if upper not in cp.settings.SOLVERS:
        raise ValueError(
            f"cvxpy_solver={name!r} is not a solver CVXPY knows; installed here: {', '.join(cp.installed_solvers())}."
        )
    return upper


def run(problem: Any, solver: str, options: dict[str, Any]) -> str:
    """Solve `problem` in place; returns "" or, when there is no answer to read, what happened."""
    if solver not in cp.installed_solvers():
        extra = " (pip install 'robustsvm[ecos]')" if solver == "ECOS" else ""
        return f"not installed{extra}"
    try:
        with warnings.catch_warnings():
            # "Solution may be inaccurate": the certificate says how inaccurate.
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            problem.solve(solver=solver, **{**OPTIONS.get(solver, {}), **options})
    except (cp.error.SolverError, ArithmeticError, ValueError, RuntimeError) as error:
        return f"failed: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
    if problem.status in INFEASIBLE:
        return problem.status
    if any(variable.value is None for variable in problem.variables()):
        return f"no values, status {problem.status}"
    return ""
