"""rs.path: one problem for several lam, each solve started where the last one ended."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustsvm.chunks import ChunkedProblem
from robustsvm.penalties import Ridge
from robustsvm.problem import Problem
from robustsvm.scalars import as_number
from robustsvm.solution import Solution
from robustsvm.solvers import solve
from robustsvm.solvers.choice import choose


def path(problem: Problem, lams: Any, solver: str = "auto", **options: Any) -> list[Solution]:
    """Solve `problem` for every lam in `lams`, with a certificate each.

    Problems are solved from the largest lam to the smallest, each started at the solution before it where the solver
    can start anywhere. The penalty that `problem` has does not matter.

    Parameters
    ----------
    problem : Problem
        Data, loss, weights and intercept.
    lams : sequence of float
        Weights of the ridge, in any order.
    solver, **options
        As in `solve`.

    Returns
    -------
    list of Solution
        In the order of `lams`.

    Examples
    --------
    >>> import robustsvm as rs
    >>> points, y = rs.datasets.synthetic(n=200, d=3)
    >>> problem = rs.Problem(points, y, rs.losses.WorstCase(gamma=0.3), lam=1.0)
    >>> [round(float(s.w @ s.w), 2) for s in rs.path(problem, [1.0, 0.1, 0.01])]
    [0.21, 1.19, 2.07]
    """
    if not isinstance(problem, (Problem, ChunkedProblem)):
        raise TypeError(f"path takes a Problem, got {type(problem).__name__}; a formulation has one as .problem.")
    if isinstance(problem, ChunkedProblem):
        raise TypeError("path takes a Problem in memory; solve a stream for each lam by itself.")
    if not np.iterable(lams) or isinstance(lams, (str, set, dict)):
        raise TypeError(f"lams must be a sequence of positive numbers, got {lams!r}.")
    values = [as_number(lam, f"lams[{k}]", above=0.0) for k, lam in enumerate(lams)]
    if not values:
        raise ValueError("lams is empty; give at least one positive number.")
    if options.get("warm_start") is not None:
        raise TypeError("warm_start means nothing to path, which starts each solve where the last one ended.")
    problems = {lam: problem.with_penalty(Ridge(lam)) for lam in sorted(set(values), reverse=True)}
    warm = chooses_steps(solver, problem, options)
    found: dict[float, Solution] = {}
    start: Any = None
    for lam, stated in problems.items():
        found[lam] = solve(stated, solver, **options | {"warm_start": start})
        start = (found[lam].w, found[lam].b) if warm else None
    return [found[lam] for lam in values]


def chooses_steps(solver: str, problem: Problem, options: dict[str, Any]) -> bool:
    """Whether the solver will be one that can start anywhere."""
    if solver != "auto":
        return solver not in ("exact", "pegasos")
    steps = options.get("callback") is not None or options.get("max_passes") is not None
    return "cvxpy_solver" not in options and choose(problem, steps)[0] == "batch"
