r"""Surveys: one pass over all data at a fixed (w, b), in memory or from a stream.

A survey gives what stochastic solvers ask of a full pass: the gradient at (w, b), the slopes of every sample,
objective and lower bound. Chunks are read once: slopes are taken at the intercept given, sums are
kept for each class apart, and the classes are balanced afterwards by scaling the heavier one down.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robustsvm.blocks import Floats
from robustsvm.chunks import ChunkedProblem
from robustsvm.columns import ColumnScan, scan_columns
from robustsvm.dual import Dual, dual_vector, rounded_down
from robustsvm.problem import Problem
from robustsvm.smoothing import Look, View, norm_smoothing, smoothing_of_norms

CLASSES = (1.0, -1.0)
SAMPLE_BYTES = 1 << 26  # of a stream that are kept in memory


@dataclass(frozen=True, eq=False)
class Survey:
    """What one pass at (w, b) through a smoothing of width mu tells.

    Attributes
    ----------
    objective, bound, dual : float, float, Dual or None
        P(w, b) and a lower bound on the optimum; the dual point is kept for data in memory only.
    value : float
        The smoothed objective.
    pull_w, pull_b : (d,) array, float
        Minus the gradient of the smoothed risk.
    a, v : (n,) arrays
        Slopes of every sample, in the order they came.
    bend, peak : float
        Mean curvature of the losses, and the mean of its square over it.
    slope_part, smoothing_part : float
        The parts of the gap that the gradient leaves and that smoothing makes.
    view : View
        Of all data in memory, or of a sample of a stream: for second derivatives.
    """

    w: Floats
    b: float
    mu: float
    nu: float
    objective: float
    bound: float
    dual: Dual | None
    value: float
    pull_w: Floats
    pull_b: float
    a: Floats
    v: Floats
    bend: float
    peak: float
    slope_part: float
    smoothing_part: float
    view: View


class MemoryData:
    """A `Problem` as a source of surveys; its intercept is set to its best for w at no extra pass."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.loss, self.penalty, self.fit_intercept = problem.loss, problem.penalty, problem.fit_intercept
        self.mass = float(len(problem.y))
        self.n, self.d = problem.points.shape
        self.columns = problem._scan
        self.centred = problem.fit_intercept and not hasattr(problem.points.means, "indptr")
        rows = np.sort(np.random.default_rng(0).permutation(self.n)[: max(4000, 10 * self.d)])
        self.sample = problem.take(rows)

    def nu(self, mu: float) -> float:
        """Smoothing of the norms that goes with mu."""
        return norm_smoothing(self.problem, mu)

    def parts(self) -> Iterator[Problem]:
        """All data at once."""
        yield self.problem

    def survey(self, w: Floats, b: float, mu: float) -> Survey:
        """One pass."""
        view = Look(self.problem, w, b).through(mu)
        bound, dual, _ = view.bound
        k = self.problem.weights * self.loss.curvature(view.m, view.s, mu)[0]
        bend = float(k.mean())
        return Survey(
            w,
            view.b,
            mu,
            view.nu,
            view.objective,
            bound,
            dual,
            view.value,
            view.z,
            0.0,
            view.a,
            view.v,
            bend,
            float((k**2).mean()) / max(bend, 1e-300),
            view.slope_part,
            max(0.0, view.objective - bound - view.slope_part),
            view,
        )


@dataclass
class _Sums:
    """Sums over the samples of one class."""

    slopes: float = 0.0
    gains: float = 0.0
    largest: Floats = field(default_factory=lambda: np.zeros(2))
    z: Any = 0.0

    def add(self, part: Problem, a: Floats, v: Floats, w: Floats, nu: float) -> None:
        """The samples of a part whose slopes are not masked out."""
        self.slopes += float(part.weights @ a)
        self.gains += float((part.weights * part.margin) @ a)
        self.largest = np.maximum(self.largest, [a.max(), v.max()])
        self.z = self.z + len(a) * dual_vector(part, Dual(a, v, witness=w, nu=nu))


class _Reservoir:
    """A uniform sample of the rows of a stream: those with the smallest of random keys."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.keys = np.zeros(0)
        self.kept: Problem | None = None

    def add(self, part: Problem) -> None:
        """Take in the rows of a chunk that are among the smallest so far."""
        n, d = part.points.shape
        size = max(100, min(max(4000, 10 * d), SAMPLE_BYTES * n // max(1, part.points.nbytes)))
        keys = self.rng.random(n)
        rows = np.argsort(keys)[:size]
        new = part.take(rows)
        new.weights = part.weights[rows]
        if self.kept is not None:
            for name in ("y", "weights", "margin"):
                setattr(new, name, np.concatenate([getattr(self.kept, name), getattr(new, name)]))
            new.points = self.kept.points.concatenate(new.points)
        keys = np.concatenate([self.keys, keys[rows]])
        smallest = np.sort(np.argsort(keys)[:size])
        raw = new.weights[smallest]
        self.keys, self.kept = keys[smallest], new.take(smallest)
        self.kept.weights = raw

    def sample(self) -> Problem:
        """The sample as a problem of its own."""
        assert self.kept is not None
        mean = float(self.kept.weights.mean())
        self.kept.weights = self.kept.weights / (mean if mean > 0 else 1.0)
        return self.kept


class StreamData:
    """A `ChunkedProblem` as a source of surveys: every survey reads all chunks once. The first pass is a scan.

    Parameters
    ----------
    problem : ChunkedProblem
        Readable more than once.
    """

    def __init__(self, problem: ChunkedProblem) -> None:
        self.problem = problem
        self.loss, self.penalty, self.fit_intercept = problem.loss, problem.penalty, problem.fit_intercept
        self.mass, self.heaviest, self.radius = 0.0, 0.0, 0.0
        scan: ColumnScan | None = None
        variances: Any = 0.0
        deviations: Any = 0.0
        self.centred = problem.fit_intercept
        kept = _Reservoir()
        for part in problem.parts():
            means, spread = part.points.means, part.points.spread
            self.mass += float(part.weights.sum())
            self.heaviest = max(self.heaviest, float(part.weights.max()))
            self.radius = max(self.radius, float(spread.radii().max()))
            seen = scan_columns(means)
            scan = seen if scan is None else scan + seen
            self.rank, self.q = spread.rank, part.points.q
            rank = max(1, spread.rank)
            variances = variances + spread.mean_variances() * rank * len(part.y)
            deviations = np.maximum(deviations, spread.largest_deviations() * np.sqrt(rank))
            self.centred = self.centred and not hasattr(means, "indptr")
            kept.add(part)
        assert scan is not None
        self.sample = kept.sample()
        self.columns, self.n, self.d = scan, scan.count, len(scan.total)
        self.maxima = scan.largest, deviations
        weight = self.heaviest / (self.mass / self.n)
        self.sizes = weight * scan.sizes, weight * np.sqrt(variances / self.n)

    def nu(self, mu: float) -> float:
        """Smoothing of the norms that goes with mu."""
        return smoothing_of_norms(self.loss, mu, self.radius, self.rank, self.q)

    def parts(self) -> Iterator[Problem]:
        """The chunks, with what is known of all of them."""
        for part in self.problem.parts():
            part.__dict__.update(offset=None, column_maxima=self.maxima)
            yield part

    def survey(self, w: Floats, b: float, mu: float) -> Survey:
        """One pass over the chunks."""
        sums = {label: _Sums() for label in CLASSES}
        slopes: list[tuple[Floats, Floats]] = []
        risk = smoothed_risk = bent = bent_squared = 0.0
        nu = self.nu(mu)
        for part in self.parts():
            look = Look(part, w, b)
            s = look.spreads(nu)
            losses, a, v = self.loss.smoothed(look.m, s, mu)
            smoothed_risk += float(part.weights @ losses)
            risk += len(a) * look.risk
            k = part.weights * self.loss.curvature(look.m, s, mu)[0]
            bent, bent_squared = bent + float(k.sum()), bent_squared + float(k @ k)
            v = v.clip(0.0, self.loss.largest_v(a))
            for label in CLASSES:
                mask = part.y == label
                sums[label].add(part, a * mask, v * mask, w, nu)
            slopes.append((a, v))
        ridge = self.penalty.value(w)
        z = sum(one.z for one in sums.values()) / self.mass
        pull_b = (sums[1.0].slopes - sums[-1.0].slopes) / self.mass
        objective = (ridge + risk / self.mass) * (1.0 + self.n * 1e-18)
        bound, balanced = self._bound(sums)
        gain = sum(one.gains for one in sums.values()) / self.mass
        smoothing_part = risk / self.mass - (gain - float(z @ w) - b * pull_b)
        a, v = (np.concatenate(column) for column in zip(*slopes, strict=True))
        return Survey(
            w,
            b,
            mu,
            nu,
            objective,
            bound,
            None,
            ridge + smoothed_risk / self.mass,
            z,
            pull_b if self.fit_intercept else 0.0,
            a,
            v,
            bent / self.mass,
            bent_squared / max(bent, 1e-300) * (self.n / self.mass),
            max(0.0, ridge + self.penalty.conjugate(balanced) - float(balanced @ w)),
            max(0.0, smoothing_part),
            Look(self.sample, w, b).through(mu, balance=False),
        )

    def _bound(self, sums: dict[float, _Sums]) -> tuple[float, Floats]:
        """The bound of the slopes, the heavier class scaled down to balance the other."""
        scale = dict.fromkeys(CLASSES, 1.0)
        if self.fit_intercept:
            lighter = min(one.slopes for one in sums.values())
            scale = {label: lighter / one.slopes if one.slopes > 0 else 0.0 for label, one in sums.items()}
        z = sum(scale[label] * sums[label].z for label in CLASSES) / self.mass
        gain = sum(scale[label] * sums[label].gains for label in CLASSES) / self.mass
        largest = np.maximum(*(one.largest for one in sums.values()))
        sizes = largest[0] * self.sizes[0] + largest[1] * self.sizes[1]
        return rounded_down(self.penalty, gain, gain, z, sizes, self.n)[0], z
