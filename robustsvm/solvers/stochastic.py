r"""The stochastic path: minibatch proximal gradient steps with variance reduction.

Two epochs of plain steps, then rounds. Each round takes a survey of all data (one epoch: the gradient, objective
and lower bound at the current point) and goes through them once more in minibatches,

.. math:: w \leftarrow \operatorname{prox}_{\eta R}\bigl(w + \eta\,(g_B(w) - g_B(\tilde w) + g(\tilde w))\bigr),

g minus the gradient of the smoothed risk (the forward step on the loss), the prox the backward step on the
penalty, w~ the point of the survey [1]_. The mean of the second half of the iterates is the next point.

Nothing is left to tune. Steps are taken in the metric of second derivatives at the survey (up to 1000
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
from robustsvm.scalars import as_count, as_generator
from robustsvm.smoothing import Look, View
from robustsvm.solution import Solution
from robustsvm.solvers.books import Callback, Proposal, Proposals, as_options, as_start, keep_books
from robustsvm.solvers.metric import LEAST_BEND, FeatureScales, Metric, SecondDerivatives
from robustsvm.solvers.minibatch import Minibatch, shuffled
from robustsvm.solvers.one_shot import WHY, one_epoch
from robustsvm.survey import MemoryData, StreamData, Survey

FIRST_MU, START_MU = 0.1, 0.5  # margins: of the first survey, and of the plain steps before it
FALL, SLOW_FALL = 0.6, 0.9  # of mu, from round to round
START_SHARPER = 4.0  # losses are curved by phi(2) at w = 0, by phi(0) where the kink is
ENOUGH, ENOUGH_OF_A_SAMPLE = 0.25, 5.0  # rows near the kink behind second derivatives, per feature
MATRIX_FEATURES = 1000  # up to here second derivatives scale the steps
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
    size, rng = as_count(batch_size, "batch_size"), as_generator(random_state)
    options = as_options(tol, max_passes, callback, verbose, most=100.0)
    if isinstance(problem, Problem):
        start = as_start(warm_start, problem.points.shape[1], problem.fit_intercept)
        proposals = stochastic_rounds(problem, start, size, rng)
        return keep_books("stochastic", proposals, options, start=start, n_features=problem.points.shape[1])
    if problem.one_shot:
        if warm_start is not None:
            raise TypeError("warm_start means nothing to a stream that can be read once; leave it out.")
        return keep_books("stochastic", one_epoch(problem, size, rng), options, why=WHY)
    return keep_books("stochastic", stochastic_rounds(problem, warm_start, size, rng), options)


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


def stochastic_rounds(
    problem: Problem | ChunkedProblem, warm_start: Any, size: int, rng: np.random.Generator
) -> Proposals:
    """Proposals of the stochastic solver: the plain epochs as they are, then one per survey."""
    data: Data = StreamData(problem) if isinstance(problem, ChunkedProblem) else MemoryData(problem)
    start = as_start(warm_start, data.d, data.fit_intercept)
    scales = FeatureScales(data.columns, data.sample, data.centred, rng)
    size = min(size, max(1, data.n // 8))
    cost = 1.0 if isinstance(data, StreamData) else 0.5  # the scan
    if start is None:
        w, b = np.zeros(data.d), 0.0
        plain: Metric = scales.with_curvature(0.4 / START_MU, 0.4 / START_MU)
        if data.d <= MATRIX_FEATURES:  # at w = 0 all losses are curved alike: second moments of the data
            view = Look(data.sample, w, b).through(START_MU, balance=False)
            plain = SecondDerivatives(RiskCurvature(view, max(1000, 5 * data.d), rng, keep=True), scales, START_SHARPER)
        for shorter in (0.3, 0.03):  # two epochs, so that surveys never are more than half of all visits
            eta = 0.5 * shorter * plain.rate(size)
            w, b = epoch(data, w, b, START_MU, plain, eta, size, rng, decay=0.01 * shorter)
            yield Proposal(w, b, None, float("-inf"), None, cost + 1.0)
            cost = 0.0
    else:
        w, b = data.penalty.prox(start[0], 0.0), start[1]
        yield Proposal(w, b, problem.objective(w, b), float("-inf"), None, cost + 1.0)
        cost = 0.0
    mu, factor = FIRST_MU, 0.5
    last: Survey | None = None
    while factor > 0.5 * SMALLEST_STEP:
        survey = data.survey(w, b, mu)
        yield Proposal(w, survey.b, survey.objective, survey.bound, survey.dual, cost + 1.0)
        if last is not None and not survey.value <= last.value + abs(last.value) * 1e-12:
            factor, survey = 0.5 * factor, last  # back, with shorter steps
        else:
            mu, factor = _next_mu(survey), min(0.5, 1.5 * factor)
            last = survey
        cost = 1.0
        metric: Metric = scales.with_curvature(survey.bend, survey.peak)
        if data.d <= MATRIX_FEATURES:
            H, peak = _curvature(survey.view, len(survey.view.m) < data.n, rng)
            metric = SecondDerivatives(H, scales, max(1.0, survey.peak / max(peak, 1e-300)))
            cost += H.passes * len(survey.view.m) / data.n
        w, b = epoch(data, survey.w, survey.b, survey.mu, metric, factor * metric.rate(size), size, rng, survey)


def _curvature(view: View, sampled: bool, rng: np.random.Generator) -> tuple[RiskCurvature, float]:
    """Second derivatives and their peak; from a sample, at a mu so large that enough rows are behind them."""
    problem, d = view.problem, len(view.w)
    enough = (ENOUGH_OF_A_SAMPLE if sampled else ENOUGH) * (d + 1)
    while True:
        k = problem.weights * problem.loss.curvature(view.m, view.s, view.mu)[0]
        total, squares = float(k.sum()), float(k @ k)
        curved = total >= LEAST_BEND * len(k) and total**2 >= enough * squares
        if curved or view.mu >= START_MU:
            return RiskCurvature(view, max(1000, 5 * d), rng, keep=True), squares / max(total, 1e-300)
        view = view.look.through(2.0 * view.mu, balance=False)


def _next_mu(survey: Survey) -> float:
    if survey.slope_part > 4.0 * survey.smoothing_part:
        return survey.mu
    return survey.mu * (FALL if survey.slope_part <= 2.0 * survey.smoothing_part else SLOW_FALL)
