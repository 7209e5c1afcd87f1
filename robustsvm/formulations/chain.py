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

# With its usual step fraction of 0.99 Clarabel 0.11 stalled on 4 to 10 of 100 small power-cone problems, depending on
# how they were scaled, at gaps of 0.03 to 1; with 0.9 on one at most. tests/test_hard_cases.py counts them.
POWER_CONE_OPTIONS: dict[str, Any] = {"max_step_fraction": 0.9}

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
    defaults = dict(OPTIONS.get(solver, {}))
    if solver == "CLARABEL" and any(isinstance(constraint, cp.PowCone3D) for constraint in problem.constraints):
        defaults |= POWER_CONE_OPTIONS
    try:
        with warnings.catch_warnings():
            # "Solution may be inaccurate": the certificate says how inaccurate.
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            problem.solve(solver=solver, **{**defaults, **options})
    except (TypeError, KeyError, AttributeError) as error:
        if options:
            raise TypeError(f"{solver} did not take the options {options}: {error}") from None
        raise
    except (cp.error.SolverError, ArithmeticError, ValueError, RuntimeError) as error:
        return f"failed: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
    if problem.status in INFEASIBLE:
        return problem.status
    if any(variable.value is None for variable in problem.variables()):
        return f"no values, status {problem.status}"
    return ""


def failure(name: str, attempts: list[str], *, constrained: bool) -> str:
    """What to say, and to suggest, when no solver gave an answer."""
    tried = "; ".join(attempts)
    if constrained and any(status in tried for status in INFEASIBLE):
        return f"{name}: no hyperplane meets the constraints given to subject_to ({tried})."
    return (
        f"{name}: every solver failed ({tried}). Try a larger lam, features on comparable scales, "
        "the extra solver of robustsvm[ecos], or verbose=True to read the solver's own log."
    )


def warnings_of(
    name: str, asked: str | None, used: str, attempts: list[str], gap: float, tol: float, why_open: str
) -> list[str]:
    """What a user must be told of a solve that was not smooth."""
    first, tried = asked or CHAIN[0], "; ".join(attempts)
    told = []
    if used != first and "gap" not in attempts[0]:
        told.append(f"{name}: {first} gave no answer, {used} was used ({tried}).")
    if gap > tol:
        told.append(f"{name}: gap {gap:.1e} is above tol {tol:.1e} ({tried}). {why_open}".rstrip())
    return told
