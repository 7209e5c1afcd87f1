"""Streams that can be read once: one epoch of stochastic steps, scaled by what has been seen so far."""

from __future__ import annotations

import warnings

import numpy as np

from robustsvm.chunks import ChunkedProblem
from robustsvm.columns import ColumnScan, scan_columns
from robustsvm.errors import SolverWarning
from robustsvm.smoothing import smoothing_of_norms
from robustsvm.solution import Solution
from robustsvm.solvers.books import Books
from robustsvm.solvers.metric import FeatureScales
from robustsvm.solvers.minibatch import Minibatch, shuffled

MU = 0.5  # margins
WHY = (
    "the stream can be read once: its objective at the answer is unknown and nothing can be certified, so the gap is "
    "infinity. Pass a callable that returns a fresh iterator, Problem.from_chunks(lambda: ..., ...), for a certificate."
)


def solve_one_shot(problem: ChunkedProblem, *, tol: float, batch_size: int, rng: np.random.Generator) -> Solution:
    """One epoch of averaged proximal steps; its gap is infinity, and a warning says why."""
    scan: ColumnScan | None = None
    books: Books | None = None
    mass, count, number = 0.0, 0, 0
    for part in problem.parts():
        seen = scan_columns(part.points.means)
        scan = seen if scan is None else scan + seen
        if books is None:
            books = Books("stochastic", part.points.shape[1], tol)
            w, b = np.zeros(part.points.shape[1]), 0.0
            mean_w, mean_b, averaged = w, b, 0
        mass, count = mass + float(part.weights.sum()), count + len(part.y)
        metric = FeatureScales(scan, part, not hasattr(part.points.means, "indptr"), rng)
        metric.with_curvature(0.4 / MU, 0.4 / MU)
        centre, spread = metric.centre, part.points.spread
        nu = smoothing_of_norms(problem.loss, MU, float(spread.radii().max()), spread.rank, part.points.q)
        size = min(batch_size, max(1, len(part.y) // 8))
        rate = 0.5 * metric.rate(size)
        for rows in shuffled(len(part.y), size, rng):
            batch = Minibatch(part, rows)
            pull, pull_b = batch.pull(*batch.slopes(w, b, MU, nu), w, nu)
            pull, pull_b = pull * (count / mass), pull_b * (count / mass)
            eta = rate / (1.0 + 0.01 * number)
            moved = metric.step(problem.penalty, w, pull - centre * pull_b, eta)
            b = b + eta * pull_b / metric.bend - float(centre @ (moved - w)) if problem.fit_intercept else 0.0
            w, number = moved, number + 1
            # The mean over the later half, as it goes: the first half is forgotten each time the count doubles.
            averaged = 1 if number & (number - 1) == 0 else averaged + 1
            mean_w, mean_b = mean_w + (w - mean_w) / averaged, mean_b + (b - mean_b) / averaged
    assert books is not None
    books.w, books.b, books.passes = mean_w, float(mean_b), 1.0
    warnings.warn(WHY, SolverWarning, stacklevel=4)
    return books.solution("tolerance_not_reached")
