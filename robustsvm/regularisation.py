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

    Problems are solved from the largest lam to the smallest, each started at the solution before it (a cone program
    is compiled once instead). The penalty that `problem` has does not matter.

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
    if not np.iterable(lams) or isinstance(lams, str):
        raise TypeError(f"lams must be a sequence of positive numbers, got {lams!r}.")
    values = [as_number(lam, "lams", above=0.0) for lam in lams]
    if not values:
        raise ValueError("lams is empty; give at least one positive number.")
    if "warm_start" in options:
        raise TypeError("warm_start means nothing to path, which starts each solve where the last one ended.")
    name = choose(problem, "callback" in options or "max_passes" in options)[0] if solver == "auto" else solver
    found: dict[float, Solution] = {}
    if name == "exact":
        return _exact(problem, values, options)
    last: Solution | None = None
    for lam in sorted(set(values), reverse=True):
        start = None if last is None else (last.w, last.b)
        last = found[lam] = solve(problem.with_penalty(Ridge(lam)), name, warm_start=start, **options)
    return [found[lam] for lam in values]


def _exact(problem: Problem, lams: list[float], options: dict[str, Any]) -> list[Solution]:
    # Here, so that paths of large problems do without CVXPY.
    from robustsvm.formulations import from_problem

    options.pop("random_state", None)  # no chance in it
    form = from_problem(problem.with_penalty(Ridge(lams[0])))
    found = []
    for lam in lams:
        form.parameters["lam"].value = lam
        found.append(form.solve(**options))
    return found
