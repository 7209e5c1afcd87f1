"""Solvers: `solve` takes a problem to a certified Solution."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from inspect import signature
from typing import Any

from robustsvm.chunks import ChunkedProblem
from robustsvm.errors import SolverFailedError, SolverWarning
from robustsvm.problem import Problem
from robustsvm.solution import Solution
from robustsvm.solvers.batch import solve_batch
from robustsvm.solvers.choice import choose
from robustsvm.solvers.classic import solve_pegasos, solve_subgradient
from robustsvm.solvers.exact import solve_exact
from robustsvm.solvers.stochastic import solve_stochastic

SOLVERS: dict[str, Callable[..., Solution]] = {
    "exact": solve_exact,
    "batch": solve_batch,
    "stochastic": solve_stochastic,
    "pegasos": solve_pegasos,
    "subgradient": solve_subgradient,
}


def solve(
    problem: Problem | ChunkedProblem,
    solver: str = "auto",
    *,
    tol: float = 1e-6,
    max_passes: float | None = None,
    warm_start: Any = None,
    callback: Callable[[Solution], Any] | None = None,
    verbose: int = 0,
    random_state: Any = None,
    **params: Any,
) -> Solution:
    """Minimise the objective of `problem` and prove how close the answer is.

    Parameters
    ----------
    problem : Problem or ChunkedProblem
        What to minimise.
    solver : {"auto", "exact", "batch", "stochastic", "pegasos", "subgradient"}
        "exact": a cone program through CVXPY; ``cvxpy_solver="ECOS"`` and the like choose which cone solver.
        "batch": Newton's method on smoothed losses, full passes over data in memory. "stochastic": minibatches
        with variance reduction, for data in memory and for streams. "pegasos" and "subgradient": for comparison.
        "auto": exact for small problems, batch for larger ones, stochastic for streams; ``Solution.reason``
        says which and why.
    tol : float
        Relative duality gap at which the solution is called optimal; nothing else ends a solve well.
    max_passes : float, optional
        Passes over the data after which to give up, looked at after each step or epoch; by default 500 for batch,
        100 for stochastic, 20 for pegasos, 200 for subgradient. ``math.inf``: never.
    warm_start : Solution, (w, b) or fitted linear model, optional
        Where to start; not for exact and pegasos. With "auto" it, `max_passes` and `callback` make batch the choice.
    callback : callable, optional
        Called after each step with the best Solution so far (its status is "running"); a true result ends the solve.
    verbose : int
        1 draws a progress bar (tqdm's: ``pip install "robustsvm[progress]"``); the exact solver prints CVXPY's log.
    random_state : int or Generator, optional
        Seed of the stochastic solvers.
    **params
        Options of the solver: ``batch_size`` of stochastic (128) and pegasos (20), ``step`` of pegasos
        ("corrected" or, as the paper has it, "printed"), CVXPY's of exact.

    Returns
    -------
    Solution

    Raises
    ------
    SolveInterrupted
        On Ctrl-C; a KeyboardInterrupt whose ``solution`` is the best so far. (The exact solver cannot be
        asked for one.)

    Examples
    --------
    >>> import robustsvm as rs
    >>> pts = rs.UncertainPoints([[-2.0], [-1.0], [1.0], [2.0]], std=0.5)
    >>> problem = rs.Problem(pts, [-1, -1, 1, 1], rs.losses.WorstCase(gamma=1.0), lam=0.1)
    >>> solution = rs.solve(problem)
    >>> round(solution.objective, 4), solution.gap < 1e-6, solution.solver
    (0.2, True, 'exact')
    >>> again = rs.solve(problem, solver="batch", tol=1e-4)
    >>> abs(again.objective - solution.objective) < 1e-4, again.gap <= 1e-4
    (True, True)
    """
    if not isinstance(problem, (Problem, ChunkedProblem)):
        raise TypeError(
            f"solve takes a Problem, got {type(problem).__name__}; state one by rs.Problem(points, y, loss, lam). "
            "A formulation has its own .solve()."
        )
    if not isinstance(solver, str) or solver not in ("auto", *SOLVERS):
        names = ", ".join(["auto", *SOLVERS])
        raise ValueError(f'solver must be one of {names}, got {solver!r}; cvxpy_solver="ECOS" chooses a cone solver.')
    given = {"max_passes": max_passes, "warm_start": warm_start, "callback": callback, "verbose": verbose or None}
    params |= {key: value for key, value in given.items() if value is not None}
    if solver == "auto" and "cvxpy_solver" in params:
        name, reason = "exact", "exact: cvxpy_solver asks for a cone program"
    elif solver == "auto":
        name, reason = choose(problem, bool({"max_passes", "warm_start", "callback"} & set(params)))
    else:
        name, reason = solver, f"{solver}: asked for"
    if isinstance(problem, ChunkedProblem) and name != "stochastic":
        raise TypeError(f'a stream can be solved by solver="stochastic" only, not "{name}": the others need all data.')
    run, known = SOLVERS[name], signature(SOLVERS[name]).parameters
    if "random_state" in known:  # the others are deterministic, whatever the seed
        params["random_state"] = random_state
    for key in params:
        if key not in known:
            _require_meaning(key, name, solver)
    found = replace(run(problem, tol=tol, **params), reason=reason)
    if solver == "auto" and name == "batch" and found.status == "tolerance_not_reached":
        return _rescued(problem, found, tol)
    return found


def _require_meaning(key: str, name: str, asked: str) -> None:
    """Raise for an option that the solver does not know, unless it may be one of CVXPY's."""
    owners = [other for other, run in SOLVERS.items() if key in signature(run).parameters]
    chosen = f'; "auto" chose {name}' if asked == "auto" else ""
    if owners and not (name == "exact" and key == "verbose"):
        raise TypeError(f'{key} means nothing to solver="{name}"{chosen}; it is an option of {", ".join(owners)}.')
    names = {option for run in SOLVERS.values() for option in signature(run).parameters} - {"problem", "cvxpy_options"}
    close = get_close_matches(key, names, 1, 0.75)
    if close and key not in names:
        raise TypeError(f"there is no option {key}; did you mean {close[0]}?")
    if name != "exact":
        known = ", ".join(sorted(set(signature(SOLVERS[name]).parameters) - {"problem"}))
        raise TypeError(f'there is no option {key} of solver="{name}"{chosen}; those it has: {known}.')


def _rescued(problem: Any, found: Solution, tol: float) -> Solution:
    """The batch solver's answer where it fell short, or that of a cone program where it is better."""
    try:
        exact = solve_exact(problem, tol=tol)
    except (SolverFailedError, MemoryError) as error:
        warnings.warn(f"batch stopped at a gap of {found.gap:.1e}, and the exact solver: {error}", SolverWarning, 3)
        return found
    reason = f"{found.reason}; it stopped at a gap of {found.gap:.1e}, so the cone program was solved after all"
    return replace(exact, reason=reason) if exact.gap < found.gap else found
