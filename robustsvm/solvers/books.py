"""The books of a solve: the best point and the best bound seen, what they cost, and when to stop.

A first-order solver is a generator of proposals; everything that solvers have in common is here, once: the
certified gap as the stop rule, the history, the limit on passes, callbacks, the progress bar and Ctrl-C.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from robustsvm.blocks import Floats
from robustsvm.dual import Dual
from robustsvm.errors import SolveInterrupted, SolverWarning
from robustsvm.hyperplanes import hyperplane_of
from robustsvm.scalars import as_number
from robustsvm.solution import Solution, Step, honest_bound, installed_versions, relative_gap
from robustsvm.solvers.progress import Progress

WIDE = 500  # features from which a second BLAS thread brings more than it costs


class Proposal(NamedTuple):
    """What a solver offers after each of its steps.

    Attributes
    ----------
    w, b, objective : (d,) array, float, float
        A point and its P(w, b); objective is None where the solver has not looked.
    bound, dual : float, Dual or None
        A lower bound and the feasible dual point behind it.
    passes : float
        Passes over the data since the last proposal.
    """

    w: Floats
    b: float
    objective: float | None
    bound: float
    dual: Dual | None
    passes: float


Proposals = Generator[Proposal, None, None]
Callback = Callable[[Solution], Any]


class Books:
    """What is known so far. `solution()` is the account of it."""

    def __init__(self, solver: str, n_features: int, tol: float) -> None:
        self.solver, self.tol = solver, tol
        self.w, self.b, self.objective = np.zeros(n_features), 0.0, float("inf")
        self.bound, self.dual = float("-inf"), None
        self.passes, self.history = 0.0, []
        self.started = time.perf_counter()

    w: Floats
    b: float
    objective: float
    bound: float
    dual: Dual | None
    history: list[Step]

    def enter(self, proposal: Proposal) -> None:
        """Count what it cost; keep its point and its bound where they are the best yet."""
        self.passes += proposal.passes
        if proposal.objective is None:
            self.w, self.b = proposal.w, proposal.b
        elif proposal.objective < self.objective:
            self.w, self.b, self.objective = proposal.w, proposal.b, proposal.objective
        if proposal.bound > self.bound:
            self.bound, self.dual = proposal.bound, proposal.dual
        self.bound = honest_bound(self.objective, self.bound)
        self.history.append(Step(self.passes, time.perf_counter() - self.started, self.objective, self.bound))

    def solution(self, status: str) -> Solution:
        """The best of everything seen."""
        found = Solution(
            w=self.w.copy(),
            b=float(self.b),
            objective=self.objective,
            lower_bound=self.bound,
            status=status,
            solver=self.solver,
            passes=self.passes,
            seconds=time.perf_counter() - self.started,
            history=list(self.history),
            dual=self.dual,
            versions=installed_versions("robustsvm", "numpy", "scipy"),
        )
        return replace(found, status="optimal") if found.gap <= self.tol and status != "interrupted" else found


def keep_books(
    solver: str,
    shape: tuple[int, int],
    proposals: Proposals,
    *,
    tol: float,
    max_passes: float,
    callback: Callback | None,
    verbose: int,
) -> Solution:
    """Run a solver to the tolerance, its end, the limit of passes, or until somebody says stop."""
    books = Books(solver, shape[1], tol)
    status = "tolerance_not_reached"
    few = threadpool_limits(1, "blas") if shape[1] < WIDE else nullcontext()
    with few, closing(proposals), Progress(solver, tol, verbose) as progress:
        try:
            for proposal in proposals:
                books.enter(proposal)
                progress.show(books.history[-1])
                if callback is not None and callback(books.solution("running")):
                    status = "interrupted"
                    break
                if relative_gap(books.objective, books.bound) <= tol:
                    break
                if books.passes >= max_passes:
                    status = "pass_limit"
                    break
        except KeyboardInterrupt:
            raise SolveInterrupted(books.solution("interrupted")) from None
    found = books.solution(status)
    if found.status in ("tolerance_not_reached", "pass_limit"):
        limit = f" within {max_passes:g} passes; raise max_passes" if found.status == "pass_limit" else ""
        message = f"{solver} reached a certified gap of {found.gap:.1e}, not tol = {tol:g}{limit}."
        warnings.warn(message, SolverWarning, stacklevel=4)
    return found


def as_options(
    n_features: int, fit_intercept: bool, tol: Any, max_passes: Any, warm_start: Any, callback: Any, most: float
) -> tuple[float, float, tuple[Floats, float] | None]:
    """Tolerance, limit and start as a solver uses them, or an error that names the one that is wrong."""
    tol = as_number(tol, "tol", above=0.0)
    limit = most if max_passes is None else as_number(max_passes, "max_passes", above=0.0)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable with a Solution, got {callback!r}.")
    if warm_start is None:
        return tol, limit, None
    start = warm_start if isinstance(warm_start, tuple) else (warm_start, None)
    w, b = hyperplane_of(*start, n_features=n_features)
    w, b = np.array(w, np.float64).reshape(-1), float(np.asarray(b, np.float64).item())
    if w.shape != (n_features,) or not (np.isfinite(w).all() and np.isfinite(b)):
        raise ValueError(f"warm_start must hold {n_features} finite weights, got shape {w.shape}.")
    return tol, limit, (w, b if fit_intercept else 0.0)


def first(proposals: Iterator[Proposal]) -> Proposal:
    """The next proposal of a solver that has one."""
    return next(iter(proposals))
