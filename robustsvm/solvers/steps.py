"""How long stochastic steps may be: the scales of the features and the lengths of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robustsvm.blocks import Floats, dense
from robustsvm.columns import ColumnScan
from robustsvm.problem import Problem

LOOKED_AT = 2000  # rows that lengths and the largest eigenvalue are taken from


@dataclass(frozen=True)
class Scaling:
    """Where the features lie and how long their steps may be.

    Attributes
    ----------
    centre : (d,) array
        Taken off the means, in effect: steps move b along so that f(centre) changes as b does alone.
    metric : (d,) array
        One over the mean square of each centred feature.
    largest : float
        Largest eigenvalue of the scaled rows' second moments, intercept included.
    length : float
        Mean square length of a scaled row, weighted towards the long ones.
    """

    centre: Floats
    metric: Floats
    largest: float
    length: float

    def longest_step(self, mu: float, size: int) -> float:
        """The step that the most curved loss allows, at smoothing mu and `size` rows a minibatch."""
        return 1.0 / (0.4 / mu * (self.largest + self.length / size))


def scaling_of(columns: ColumnScan, part: Problem, centred: bool, rng: np.random.Generator) -> Scaling:
    """The scaling of the features, from column sums and a look at some rows of `part`."""
    centre = columns.means if centred else np.zeros(len(columns.total))
    squares = columns.variances if centred else columns.squares / columns.count
    metric = 1.0 / np.maximum(squares, 1e-12 * max(float(squares.max()), 1e-300))
    rows = np.sort(rng.permutation(len(part.y))[:LOOKED_AT])
    scaled = (dense(part.points.means[rows]) - centre) * np.sqrt(metric)
    lengths = np.einsum("ij,ij->i", scaled, scaled) + 1.0
    u = rng.standard_normal(len(centre))
    for _ in range(20):  # power iteration
        u = scaled.T @ (scaled @ (u / max(float(np.linalg.norm(u)), 1e-300))) / len(scaled)
    return Scaling(centre, metric, float(np.linalg.norm(u)) + 1.0, float((lengths**2).mean() / lengths.mean()))
