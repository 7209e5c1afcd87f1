"""Problem: points, labels, a loss and a penalty, and everything that can be computed from them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from robustsvm import dual as _dual
from robustsvm.blocks import Floats, matvec
from robustsvm.checks import as_floats, as_labels, as_per_sample, as_raw_weights, as_weights, require_finite
from robustsvm.chunks import ChunkedProblem
from robustsvm.dual import Dual
from robustsvm.losses import Loss, WorstCase
from robustsvm.penalties import Penalty, Ridge
from robustsvm.points import UncertainPoints
from robustsvm.scalars import as_flag
from robustsvm.scans import SCANS, Scanned


class Problem(Scanned):
    r"""A robust SVM as an optimisation problem.

    .. math:: P(w, b) = R(w) + \frac1n \sum_i c_i \, \psi(m_i, s_i), \quad
              m_i = r_i - y_i (w^\top x_i + b), \quad s_i = \|A_i^\top w\|_q

    Parameters
    ----------
    points : UncertainPoints or array
        The points; a plain array means no uncertainty.
    y : (n,) array of -1 and +1
        Labels, both present.
    loss : Loss
        ``Hinge()``, ``WorstCase(gamma)`` or ``ExpectedHinge()``.
    lam : float, optional
        Short for ``penalty=Ridge(lam)``, :math:`R = \frac\lambda2 \|w\|^2`.
    penalty : Penalty, optional
        R, when it is not a ridge.
    sample_weight : (n,) array, optional
        Weights; divided by their mean, so only their ratios matter.
    fit_intercept : bool
        Whether b is free; otherwise it is 0.
    margin : float or (n,) array
        The margin r_i asked of each sample.

    Examples
    --------
    >>> import numpy as np
    >>> import robustsvm as rs
    >>> pts = rs.UncertainPoints(np.array([[-2.0], [-1.0], [1.0], [2.0]]), std=0.5)
    >>> problem = rs.Problem(pts, [-1, -1, 1, 1], rs.losses.WorstCase(gamma=1.0), lam=0.1)
    >>> round(problem.objective([2.0], 0.0), 12), round(problem.objective([1.0], 0.0), 12)
    (0.2, 0.3)
    """

    def __init__(
        self,
        points: Any,
        y: Any,
        loss: Loss,
        lam: float | None = None,
        *,
        penalty: Penalty | None = None,
        sample_weight: Any = None,
        fit_intercept: bool = True,
        margin: Any = 1.0,
    ) -> None:
        _require_loss(loss)
        self._set_points(points, loss)
        self.penalty = _penalty(lam, penalty)
        self.y = as_labels(y, len(self.points))
        self.weights = as_weights(sample_weight, self.y)
        self.fit_intercept = as_flag(fit_intercept, "fit_intercept")
        self.margin = np.broadcast_to(as_per_sample(margin, len(self.y), "margin"), self.y.shape)

    @classmethod
    def from_chunks(
        cls,
        chunks: Any,
        loss: Loss,
        lam: float | None = None,
        *,
        penalty: Penalty | None = None,
        fit_intercept: bool = True,
    ) -> ChunkedProblem:
        """A problem on data that never are in memory at once.

        Parameters
        ----------
        chunks : callable
            Called for every pass; returns a fresh iterator of (points, y) or (points, y, sample_weight), each time
            over the same data in the same order. An iterator instead of a callable can be read once: one epoch
            of stochastic steps, and no certificate.
        loss, lam, penalty, fit_intercept
            As in `Problem`.

        Returns
        -------
        ChunkedProblem
            What ``rs.solve(..., solver="stochastic")`` takes.
        """
        penalty = _penalty(lam, penalty)
        flag = as_flag(fit_intercept, "fit_intercept")
        if not callable(chunks) and not hasattr(chunks, "__next__"):
            raise TypeError(
                "chunks must be a callable that returns an iterator of (points, y), such as lambda: iter(files); "
                f"got {type(chunks).__name__}. A list goes in as lambda: iter(the_list)."
            )

        def make_part(points: Any, y: Any, sample_weight: Any) -> Problem:
            return cls._part(points, y, loss, penalty, flag, sample_weight)

        _require_loss(loss)
        return ChunkedProblem(chunks, make_part, loss, penalty, flag)

    @classmethod
    def _part(cls, points: Any, y: Any, loss: Loss, penalty: Penalty, fit_intercept: bool, weight: Any) -> Problem:
        """A chunk: one class is enough, and weights stay as they are."""
        part = cls.__new__(cls)
        part._set_points(points, loss)
        part.y = as_labels(y, len(part.points), both=False)
        part.penalty, part.fit_intercept = penalty, fit_intercept
        part.weights = as_raw_weights(weight, part.y)
        part.margin = np.broadcast_to(1.0, part.y.shape)
        return part

    def _set_points(self, points: Any, loss: Loss) -> None:
        self.points = points if isinstance(points, UncertainPoints) else UncertainPoints(points)
        self.loss = loss
        if loss.gaussian_only and self.points.p != 2:
            raise ValueError(f"{loss!r} reads points as Gaussians: p must be 2, got {self.points.p:g}.")

    def __repr__(self) -> str:
        free = "" if self.fit_intercept else ", no intercept"
        return f"Problem({self.points!r}, {self.loss!r}, {self.penalty!r}{free})"

    # -- primal --------------------------------------------------------------------------------

    def margins_and_spreads(self, w: Any, b: float = 0.0) -> tuple[Floats, Floats]:
        """(m, s): what each sample lacks of its margin, and the spread that w sees of it."""
        w, b = self.hyperplane(w, b)
        m = self.margin - self.y * self.decision(w, b)
        s = self.points.spread.seen(w, self.points.q)
        if not (np.isfinite(m).all() and np.isfinite(s).all()):
            raise ValueError("w and the points are so large that their product overflows; rescale the features.")
        return m, s

    def decision(self, w: Floats, b: float) -> Floats:
        """w.x_i + b for every mean, without the cancellation that data far from the origin bring."""
        if self.offset is None:
            return matvec(self.points.means, w) + b
        near = np.dot(self.offset.astype(np.longdouble), w.astype(np.longdouble)) + np.longdouble(b)
        return matvec(self.points.means, w, self.offset) + float(near)

    def objective(self, w: Any, b: float = 0.0) -> float:
        """P(w, b), rounded up: margins that sums in floating point cannot tell from 0 count as missed by that much.

        For most problems that changes the sixteenth digit. Where data are separable and lam is tiny, losses
        of 1e-16 are larger than the penalty, and rounded down they would make a false gap.
        """
        w, b = self.hyperplane(w, b)
        return self.objective_at(w, b, *self.margins_and_spreads(w, b))

    def objective_at(self, w: Floats, b: float, m: Floats, s: Floats) -> float:
        """`objective` where margins and spreads at (w, b) are known."""
        return (self.penalty.value(w) + self.risk_at(w, b, m, s)) * (1.0 + len(self.y) * 1e-18)

    def risk_at(self, w: Floats, b: float, m: Floats, s: Floats) -> float:
        """The mean loss, of margins and spreads as large as rounding may have hidden."""
        missed, unseen = self.margin_rounding(w, b)
        unseen = 0.0 if self.points.spread.is_zero else unseen
        return float(np.mean(self.weights * self.loss.value(m + missed, s + unseen)))

    def gradient(self, w: Any, b: float = 0.0) -> tuple[Floats, float]:
        """A subgradient of P in w and in b (0 when there is no intercept); the gradient where P has one."""
        w, b = self.hyperplane(w, b)
        dual = self.slopes(w, b)
        z, balance = _dual.dual_vector(self, dual), float(np.mean(self.weights * dual.a * self.y))
        if self.offset is not None:
            z = z + balance * self.offset
        return self.penalty.gradient(w) - z, -balance if self.fit_intercept else 0.0

    def slopes(self, w: Any, b: float = 0.0) -> Dual:
        """The dual point that (w, b) proposes: slopes of each loss, directions of each norm."""
        w, b = self.hyperplane(w, b)
        a, v = self.loss.slopes(*self.margins_and_spreads(w, b))
        return Dual(a, v, witness=w)

    def best_intercept(self, w: Any, b: float = 0.0) -> float:
        """A b that minimises P(w, .), by bisection on its monotone slope; 0 without an intercept.

        `b` is where to start looking.
        """
        w, b = self.hyperplane(w, b)
        if not self.fit_intercept:
            return 0.0
        m, s = self.margins_and_spreads(w, b)

        def rises(step: float) -> bool:
            a, _ = self.loss.slopes(m - self.y * step, s)
            return bool(np.dot(self.weights * a, self.y) <= 0)

        low = high = 0.0
        width = 1.0
        while not rises(high):
            low, high, width = high, high + width, 2 * width
        while rises(low):
            low, high, width = low - width, low, 2 * width
        for _ in range(200):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            low, high = (low, middle) if rises(middle) else (middle, high)
        candidates = [(float(np.mean(self.weights * self.loss.value(m - self.y * t, s))), t) for t in (0.0, low, high)]
        return b + min(candidates)[1]

    def worst_perturbation(self, w: Any, b: float = 0.0) -> Floats:
        """The displacement of each mean, inside its set, that hurts (w, b) most, shape (n, d).

        At ``points.means + worst_perturbation(w, b)`` the hinge loss is the worst-case loss. It does
        not depend on b; (w, b) is what is being judged, so both are taken.
        """
        w, b = self.hyperplane(w, b)
        if not isinstance(self.loss, WorstCase):
            raise TypeError(f"worst_perturbation needs a WorstCase loss, with its radius gamma; this is {self.loss!r}.")
        toward = self.points.spread.displacements(w, self.points.q)
        return np.asarray(-self.loss.gamma * self.y[:, None] * toward)

    # -- other problems ------------------------------------------------------------------------

    def take(self, rows: Any) -> Problem:
        """The same problem on some of the samples; their weights are divided by their mean again."""
        part = copy.copy(self)
        for name in SCANS:
            part.__dict__.pop(name, None)
        part.points, part.y, part.margin = self.points[rows], self.y[rows], self.margin[rows]
        weights = self.weights[rows]
        part.weights = weights / max(float(weights.mean()), float(np.finfo(np.float64).tiny))
        return part

    def with_penalty(self, penalty: Penalty) -> Problem:
        """The same problem with another penalty; the data are shared."""
        other = copy.copy(self)
        other.penalty = _penalty(None, penalty)
        return other

    # -- dual ----------------------------------------------------------------------------------

    def lower_bound(self, dual: Dual) -> float:
        """A true lower bound on the smallest objective, from any dual guess (it is repaired first)."""
        if not isinstance(dual, Dual):
            raise TypeError(f"dual must be an rs.Dual(a, v, e), got {type(dual).__name__}.")
        for name in ("a", "v", "e", "witness"):
            if getattr(dual, name) is not None and not np.isfinite(getattr(dual, name)).all():
                raise ValueError(f"dual.{name} contains NaN or infinity.")
        return _dual.dual_bound(self, dual)[0]

    # -- input ---------------------------------------------------------------------------------

    def hyperplane(self, w: Any, b: Any) -> tuple[Floats, float]:
        """(w, b) as a float64 vector and a number; ``coef_`` of shape (1, d) is taken too."""
        d = self.points.shape[1]
        w = np.asarray(as_floats(w, "w"), np.float64)
        w = w.reshape(d) if w.shape == (1, d) else w
        if w.shape != (d,):
            raise ValueError(f"w must have shape ({d},), got {w.shape}.")
        require_finite(w, "w")
        offset = np.asarray(as_floats(b, "b"), np.float64)
        if offset.size != 1:
            raise ValueError(f"b must be one number, got shape {offset.shape}.")
        require_finite(offset, "b")
        if not self.fit_intercept and offset.item() != 0.0:
            raise ValueError(f"b must be 0: the problem has no intercept, got {offset.item():g}.")
        return w, float(offset.item())


def _require_loss(loss: Any) -> None:
    if not isinstance(loss, Loss):
        raise TypeError(f"loss must be a Loss such as rs.losses.WorstCase(gamma=1.0), got {loss!r}.")


def _penalty(lam: float | None, penalty: Penalty | None) -> Penalty:
    if (lam is None) == (penalty is None):
        raise ValueError("give one of lam and penalty.")
    if lam is not None:
        return Ridge(lam)
    if not isinstance(penalty, Penalty):
        raise TypeError(f"penalty must be a Penalty such as rs.penalties.Ridge(0.01), got {penalty!r}.")
    return penalty
