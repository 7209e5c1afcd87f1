"""Streams that can be read once: one epoch of stochastic steps, scaled by what has been seen so far."""

from __future__ import annotations

import numpy as np

from robustsvm.chunks import ChunkedProblem
from robustsvm.columns import ColumnScan, scan_columns
from robustsvm.smoothing import smoothing_of_norms
from robustsvm.solvers.books import Proposal, Proposals
from robustsvm.solvers.metric import FeatureScales
from robustsvm.solvers.minibatch import Minibatch, shuffled

MU = 0.5  # margins
WHY = (
    "the stream can be read once: its objective at the answer is unknown and nothing can be certified, so the gap is "
    "infinity (chunks sorted by label also spoil the answer). Pass a callable that returns a fresh iterator, "
    "Problem.from_chunks(lambda: ..., ...), for a certificate."
)


def one_epoch(problem: ChunkedProblem, size: int, rng: np.random.Generator) -> Proposals:
    """Averaged proximal steps: a proposal after each chunk, of which nothing is known but where it is."""
    scan: ColumnScan | None = None
    mass, count, number, averaged = 0.0, 0, 0, 0
    w, b, mean_w, mean_b = np.zeros(0), 0.0, np.zeros(0), 0.0
    for part in problem.parts():
        seen = scan_columns(part.points.means)
        scan = seen if scan is None else scan + seen
        if count == 0:
            w = mean_w = np.zeros(part.points.shape[1])
        mass, count = mass + float(part.weights.sum()), count + len(part.y)
        metric = FeatureScales(scan, part, problem.fit_intercept and not hasattr(part.points.means, "indptr"), rng)
        metric.with_curvature(0.4 / MU, 0.4 / MU)
        centre, spread = metric.centre, part.points.spread
        nu = smoothing_of_norms(problem.loss, MU, float(spread.radii().max()), spread.rank, part.points.q)
        rows_each = min(size, max(1, len(part.y) // 8))
        for rows in shuffled(len(part.y), rows_each, rng) if mass > 0 else ():
            batch = Minibatch(part, rows)
            pull, pull_b = batch.pull(*batch.slopes(w, b, MU, nu), w, nu)
            pull, pull_b = pull * (count / mass), pull_b * (count / mass)
            eta = 0.5 * metric.rate(rows_each) / (1.0 + 0.01 * number)
            moved = metric.step(problem.penalty, w, pull - centre * pull_b, eta)
            b = b + eta * pull_b / metric.bend - float(centre @ (moved - w)) if problem.fit_intercept else 0.0
            w, number = moved, number + 1
            # The mean over the later half, as it goes: the first half is forgotten each time the count doubles.
            averaged = 1 if number & (number - 1) == 0 else averaged + 1
            mean_w, mean_b = mean_w + (w - mean_w) / averaged, mean_b + (b - mean_b) / averaged
        yield Proposal(mean_w, float(mean_b), None, float("-inf"), None, 0.0)
    yield Proposal(mean_w, float(mean_b), None, float("-inf"), None, 1.0)
