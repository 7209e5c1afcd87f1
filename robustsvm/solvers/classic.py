r"""Two classics, for comparison and teaching: Pegasos on robust losses, and the subgradient method.

They need nothing but slopes. Their certificates are those of slopes at a point that is not the optimum, which
amplify the distance from it: compare `stochastic`, which reads off the same data a bound a thousand times closer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robustsvm.blocks import Floats
from robustsvm.dual import dual_bound
from robustsvm.penalties import Ridge
from robustsvm.problem import Problem
from robustsvm.scalars import as_count, as_generator
from robustsvm.solution import Solution
from robustsvm.solvers.books import Callback, Proposal, Proposals, as_options, as_start, keep_books
from robustsvm.solvers.minibatch import Minibatch, shuffled

PEGASOS_STEPS = ("corrected", "printed")


def solve_pegasos(
    problem: Problem,
    *,
    tol: float = 1e-2,
    max_passes: float | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
    random_state: Any = None,
    batch_size: int = 20,
    step: str = "corrected",
) -> Solution:
    r"""Algorithm 1 of SVM-GSU ([GSU]_), for any loss: steps 1/(lam t) on minibatches, w kept in a ball.

    ``step="printed"`` divides the step by the size of the minibatch once more, as the paper prints it although its
    gradient already is a mean: far from the optimum after the same work. "corrected" does not. Its first step, 1/lam,
    forgets where it started, so there is no warm start.

    References
    ----------
    .. [GSU] Tzelepis, Mezaris and Patras, Linear Maximum Margin Classifier for Learning from
       Uncertain Data, IEEE TPAMI 2018.
    """
    if not isinstance(problem.penalty, Ridge):
        raise TypeError(f'solver="pegasos" needs a Ridge penalty, got {problem.penalty!r}; use "stochastic".')
    if step not in PEGASOS_STEPS:
        raise ValueError(f"step must be one of {', '.join(PEGASOS_STEPS)}, got {step!r}.")
    size = as_count(batch_size, "batch_size")
    options = as_options(tol, max_passes, callback, verbose, most=20.0)
    proposals = _pegasos(problem, size, 1.0 / size if step == "printed" else 1.0, as_generator(random_state))
    return keep_books("pegasos", proposals, options, n_features=problem.points.shape[1])


def _pegasos(problem: Problem, size: int, shrink: float, rng: np.random.Generator) -> Proposals:
    w, b, lam = np.zeros(problem.points.shape[1]), 0.0, problem.penalty.lam  # type: ignore[attr-defined]
    radius, t = 1.0 / np.sqrt(lam), 0
    while True:
        for rows in shuffled(len(problem.y), size, rng):
            t += 1
            batch = Minibatch(problem, rows)
            pull, pull_b = batch.pull(*batch.slopes(w, b, 0.0, 0.0), w, 0.0)
            eta = shrink / (lam * t)
            w, b = w + eta * (pull - lam * w), b + eta * pull_b
            w = w * min(1.0, radius / max(float(np.linalg.norm(w)), 1e-300))
        yield judged(problem, w, b, cost=1.0)


def solve_subgradient(
    problem: Problem,
    *,
    tol: float = 1e-2,
    max_passes: float | None = None,
    warm_start: Any = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """The proximal subgradient method on all data: steps of length 1/sqrt(t), scaled by the subgradient at 0."""
    options, d = as_options(tol, max_passes, callback, verbose, most=200.0), problem.points.shape[1]
    start = as_start(warm_start, d, problem.fit_intercept)
    proposals = _subgradient(problem, start or (np.zeros(d), 0.0))
    return keep_books("subgradient", proposals, options, start=start, n_features=d)


def _subgradient(problem: Problem, start: tuple[Floats, float]) -> Proposals:
    w, b = problem.penalty.prox(start[0], 0.0), start[1]
    # At 0, not at the start: near a good start the subgradient is small, and one over it no measure of anything.
    first, slope = problem.gradient(np.zeros_like(w), 0.0)
    size = float(np.hypot(np.linalg.norm(first), slope))
    scale, t = 1.0 / size**2 if size > 0 else 1.0, 0
    while True:
        t += 1
        yield judged(problem, w, b, cost=1.0)
        gradient, slope = problem.gradient(w, b)
        risk = gradient - problem.penalty.gradient(w)
        eta = scale / np.sqrt(t)
        w, b = problem.penalty.prox(w - eta * risk, eta), b - eta * slope


def judged(problem: Problem, w: Floats, b: float, cost: float) -> Proposal:
    """A proposal with its best intercept and the bound that slopes give: one more pass."""
    b = problem.best_intercept(w, b)
    return Proposal(w, b, problem.objective(w, b), *dual_bound(problem, problem.slopes(w, b))[:2], cost + 1.0)
