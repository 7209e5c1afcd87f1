r"""The stochastic path: minibatch proximal gradient steps with variance reduction.

Two epochs of plain steps, then rounds. Each round takes a survey of all data (one epoch: the gradient, objective
and lower bound at the current point) and goes through them once more in minibatches,

.. math:: w \leftarrow \operatorname{prox}_{\eta R}\bigl(w + \eta\,(g_B(w) - g_B(\tilde w) + g(\tilde w))\bigr),

g minus the gradient of the smoothed risk (the forward step on the loss), the prox the backward step on the
penalty, w~ the point of the survey [1]_. The mean of the second half of the iterates is the next point.

Nothing is left to tune. Steps are taken in the metric of second derivatives at the survey (up to 300
features; beyond, of the variances of the features), and their rate is half the longest that the noise of a minibatch
allows (`metric`). Where a round ends higher than it began, its result is dropped and the steps are halved. The
smoothing falls from round to round, slower where it is not what keeps the gap open.

References
----------
.. [1] Xiao and Zhang, A proximal stochastic gradient method with progressive variance reduction,
   SIAM Journal on Optimization 24, 2014.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from robustsvm.blocks import Floats
from robustsvm.chunks import ChunkedProblem
from robustsvm.curvature import RiskCurvature
from robustsvm.problem import Problem
from robustsvm.scalars import as_number
from robustsvm.smoothing import View
from robustsvm.solution import Solution
from robustsvm.solvers.books import Callback, Proposal, Proposals, as_options, keep_books
from robustsvm.solvers.metric import FeatureScales, Metric, SecondDerivatives
from robustsvm.solvers.minibatch import Minibatch, shuffled
from robustsvm.solvers.one_shot import solve_one_shot
from robustsvm.survey import MemoryData, StreamData, Survey

FIRST_MU, START_MU = 0.1, 0.5  # margins: of the first survey, and of the plain steps before it
FALL, SLOW_FALL = 0.6, 0.9  # of mu, from round to round
ENOUGH, ENOUGH_OF_A_SAMPLE = 0.25, 5.0  # rows near the kink behind second derivatives, per feature
MATRIX_FEATURES = 300  # up to here second derivatives scale the steps
SMALLEST_STEP = 1e-6  # of the proposed one, before the solver gives up

Data = MemoryData | StreamData


def solve_stochastic(
    problem: Problem | ChunkedProblem,
    *,
    tol: float = 1e-2,
    max_passes: float | None = None,
    warm_start: Any = None,
    callback: Callback | None = None,
    verbose: int = 0,
    random_state: Any = None,
    batch_size: int = 128,
) -> Solution:
    """Minimise `problem` by minibatches; see the module for the method."""
    if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
        raise ValueError(f"batch_size must be a whole number of at least 1, got {batch_size!r}.")
    rng = np.random.default_rng(random_state)
    if isinstance(problem, ChunkedProblem) and problem.one_shot:
        if max_passes is not None or warm_start is not None or callback is not None:
            raise TypeError("max_passes, warm_start and callback mean nothing to a stream that can be read once.")
        return solve_one_shot(problem, tol=as_number(tol, "tol", above=0.0), batch_size=int(batch_size), rng=rng)
    data: Data = StreamData(problem) if isinstance(problem, ChunkedProblem) else MemoryData(problem)
    tol, limit, start = as_options(data.d, data.fit_intercept, tol, max_passes, warm_start, callback, most=100.0)
    proposals = stochastic_rounds(data, start, int(batch_size), rng)
    return keep_books(
        "stochastic", (data.n, data.d), proposals, tol=tol, max_passes=limit, callback=callback, verbose=verbose
    )


def minibatches(data: Data, size: int, rng: np.random.Generator) -> Iterator[tuple[Minibatch, Any]]:
    """Each sample once, with its number in the order of surveys; streams are shuffled within chunks."""
    start = 0
    for part in data.parts():
        for rows in shuffled(len(part.y), size, rng):
            yield Minibatch(part, rows), start + rows
        start += len(part.y)


def epoch(
    data: Data,
    w: Floats,
    b: float,
    mu: float,
    metric: Metric,
    eta: float,
    size: int,
    rng: np.random.Generator,
    anchor: Survey | None = None,
    decay: float = 0.0,
) -> tuple[Floats, float]:
    """One epoch of proximal steps; with an `anchor` they are variance reduced. The mean of the second half."""
    centre, share = metric.centre, data.mass / data.n
    offset = b + float(centre @ w)  # the decision at the centre moves on its own
    total_w, total_offset, count = np.zeros_like(w), 0.0, 0
    seen, nu = 0, data.nu(mu)
    for number, (batch, at) in enumerate(minibatches(data, size, rng)):
        slopes = batch.slopes(w, offset - float(centre @ w), mu, nu)
        if anchor is None:
            pull, pull_b = batch.difference((*slopes, w), None, nu)
        else:
            pull, pull_b = batch.difference((*slopes, w), (anchor.a[at], anchor.v[at], anchor.w), nu)
        pull, pull_b = pull / share, pull_b / share
        if anchor is not None:
            pull, pull_b = pull + anchor.pull_w, pull_b + anchor.pull_b
        rate = eta / (1.0 + decay * number)
        w = metric.step(data.penalty, w, pull - centre * pull_b, rate)
        offset += rate * pull_b / metric.bend
        seen += len(at)
        if 2 * seen >= data.n:
            total_w, total_offset, count = total_w + w, total_offset + offset, count + 1
    w, offset = total_w / count, total_offset / count
    return w, (offset - float(centre @ w)) if data.fit_intercept else 0.0


def stochastic_rounds(data: Data, start: tuple[Floats, float] | None, size: int, rng: np.random.Generator) -> Proposals:
    """Proposals of the stochastic solver, one per survey."""
    scales = FeatureScales(data.columns, next(iter(data.parts())), data.centred, rng)
    size = min(size, max(1, data.n // 8))
    cost = 1.0 if isinstance(data, StreamData) else 0.5  # the scan
    if start is None:
        w, b = np.zeros(data.d), 0.0
        plain = scales.with_curvature(0.4 / START_MU, 0.4 / START_MU)
        for shorter in (1.0, 0.1):  # two epochs, so that surveys never are more than half of all visits
            eta = 0.5 * shorter * plain.rate(size)
            w, b = epoch(data, w, b, START_MU, plain, eta, size, rng, decay=0.01 * shorter)
            cost += 1.0
    else:
        w, b = data.penalty.prox(start[0], 0.0), start[1]
    mu, factor = FIRST_MU, 0.5
    last: Survey | None = None
    while factor > 0.5 * SMALLEST_STEP:
        survey = data.survey(w, b, mu)
        yield Proposal(w, survey.b, survey.objective, survey.bound, survey.dual, cost + 1.0)
        if last is not None and not survey.value <= last.value + abs(last.value) * 1e-12:
            factor, survey = 0.5 * factor, last  # back, with shorter steps
        else:
            mu = _next_mu(survey)
            last = survey
        cost = 1.0
        metric: Metric = scales.with_curvature(survey.bend, survey.peak)
        if data.d <= MATRIX_FEATURES:
            H, peak = _curvature(survey.view, len(survey.view.m) < data.n, rng)
            metric = SecondDerivatives(H, scales, survey.peak / peak)
            cost += H.passes * len(survey.view.m) / data.n
        w, b = epoch(data, survey.w, survey.b, survey.mu, metric, factor * metric.rate(size), size, rng, survey)


def _curvature(view: View, sampled: bool, rng: np.random.Generator) -> tuple[RiskCurvature, float]:
    """Second derivatives and their peak; from a sample, at a mu so large that enough rows are behind them."""
    problem, d = view.problem, len(view.w)
    enough = (ENOUGH_OF_A_SAMPLE if sampled else ENOUGH) * (d + 1)
    while True:
        k = problem.weights * problem.loss.curvature(view.m, view.s, view.mu)[0]
        total, squares = float(k.sum()), float(k @ k)
        if view.mu >= START_MU or total**2 >= enough * squares > 0:
            return RiskCurvature(view, max(1000, 10 * d), rng), squares / max(total, 1e-300)
        view = view.look.through(2.0 * view.mu, balance=False)


def _next_mu(survey: Survey) -> float:
    if survey.slope_part > 10.0 * survey.smoothing_part:
        return survey.mu
    return survey.mu * (FALL if survey.slope_part <= 2.0 * survey.smoothing_part else SLOW_FALL)
