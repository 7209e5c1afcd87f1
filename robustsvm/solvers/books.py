"""The books of a solve: the best point and the best bound seen, what they cost, and when to stop.

A first-order solver is a generator of proposals; everything that solvers have in common is here, once: the
certified gap as the stop rule, the history, the limit on passes, callbacks, the progress bar and Ctrl-C.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator
from contextlib import closing, nullcontext
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from robustsvm.blocks import Floats
from robustsvm.dual import Dual
from robustsvm.errors import SolveInterrupted, SolverWarning
from robustsvm.hyperplanes import hyperplane_of
from robustsvm.scalars import as_count, as_number
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

    def __init__(self, solver: str, start: tuple[Floats, float], tol: float) -> None:
        self.solver, self.tol = solver, tol
        (self.w, self.b), self.objective = start, float("inf")
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
            if np.isinf(self.objective):
                self.w, self.b = proposal.w, proposal.b
        elif proposal.objective < self.objective:
            self.w, self.b, self.objective = proposal.w, proposal.b, proposal.objective
        if proposal.bound > self.bound:
            self.bound, self.dual = proposal.bound, proposal.dual
        self.bound = honest_bound(self.objective, self.bound)
        self.history.append(Step(self.passes, time.perf_counter() - self.started, self.objective, self.bound))

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return relative_gap(self.objective, self.bound)

    def solution(self, status: str) -> Solution:
        """The best of everything seen."""
        return Solution(
            w=np.array(self.w),
            b=float(self.b),
            objective=self.objective,
            lower_bound=self.bound,
            status="optimal" if self.gap <= self.tol else status,
            solver=self.solver,
            passes=self.passes,
            seconds=time.perf_counter() - self.started,
            history=list(self.history),
            dual=self.dual,
            versions=installed_versions("robustsvm", "numpy", "scipy"),
        )


def keep_books(
    solver: str,
    proposals: Proposals,
    options: Options,
    *,
    start: tuple[Floats, float] | None = None,
    n_features: int = 0,
    why: str = "",
) -> Solution:
    """Run a solver to the tolerance, its end, the limit of passes, or until somebody says stop.

    `start` is where it stands before its first proposal, 0 by default; `why` says in the warning what keeps a gap open.
    """
    books = Books(solver, start or (np.zeros(n_features), 0.0), options.tol)
    status = "tolerance_not_reached"
    few = threadpool_limits(1, "blas") if n_features < WIDE else nullcontext()
    try:
        with few, closing(proposals), Progress(solver, options.tol, options.verbose) as progress:
            for proposal in proposals:
                books.enter(proposal)
                progress.show(books.history[-1])
                stop = options.callback is not None and options.callback(books.solution("running"))
                if books.gap <= options.tol:
                    break
                if stop:
                    status = "interrupted"
                    break
                if books.passes >= options.max_passes:
                    status = "pass_limit"
                    break
    except KeyboardInterrupt:
        raise SolveInterrupted(books.solution("interrupted")) from None
    found = books.solution(status)
    if found.status in ("tolerance_not_reached", "pass_limit"):
        limit = f" within {options.max_passes:g} passes; raise max_passes or tol" if status == "pass_limit" else ""
        said = why or f"{solver} reached a certified gap of {found.gap:.1e}, not tol = {options.tol:g}{limit}."
        warnings.warn(said, SolverWarning, stacklevel=4)
    return found


class Options(NamedTuple):
    """What users ask of any solver that takes steps, checked."""

    tol: float
    max_passes: float
    callback: Callback | None
    verbose: int


def as_options(tol: Any, max_passes: Any, callback: Any, verbose: Any, most: float) -> Options:
    """The options as a solver uses them, or an error that names the one that is wrong."""
    limit = most if max_passes is None else float("inf") if max_passes == np.inf else None
    if limit is None:
        limit = as_number(max_passes, "max_passes", above=0.0)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable with a Solution, got {callback!r}.")
    if isinstance(verbose, bool):
        verbose = int(verbose)
    return Options(as_number(tol, "tol", above=0.0), limit, callback, as_count(verbose, "verbose", 0))


def as_start(warm_start: Any, n_features: int, fit_intercept: bool) -> tuple[Floats, float] | None:
    """(w, b) to start at, or None; a Solution, a fitted linear model, (w, b) or w alone."""
    if warm_start is None:
        return None
    pair = warm_start if isinstance(warm_start, tuple) and len(warm_start) == 2 else (warm_start, None)
    try:
        w, b = hyperplane_of(*pair, n_features=n_features)
    except (TypeError, ValueError) as error:
        raise type(error)(f"warm_start: {error}") from None
    if b != 0 and not fit_intercept:
        raise ValueError(f"warm_start has the intercept {b:g}, and the problem has none; pass w alone.")
    return w, b
