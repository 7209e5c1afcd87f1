r"""Dual points: from any guess of the multipliers to a true lower bound.

For every :math:`(a_i, v_i) \in K` and every :math:`\|e_i\|_p \le 1` with
:math:`\sum_i c_i a_i y_i = 0` (needed only when there is an intercept),

.. math::

    D = \frac1n \sum_i c_i a_i r_i - R^*(z), \qquad
    z = \frac1n \sum_i c_i (a_i y_i x_i - v_i A_i e_i),

is at most :math:`P(w, b)` for every (w, b): r are the margins (1 unless said otherwise), R* the
conjugate of the penalty, :math:`\|z\|^2 / (2\lambda)` for the ridge. Points that share an atom can
share e (averaging their directions changes nothing and stays in the ball), so e is kept per atom.

Nothing here trusts its input: multipliers are clipped into K, directions shrunk into the unit ball,
classes balanced, and the rounding error of the sums is taken off the bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from robustsvm.blocks import Floats, both, rmatvec
from robustsvm.norms import into_unit_ball
from robustsvm.penalties import Penalty

if TYPE_CHECKING:
    from robustsvm.problem import Problem


@dataclass(frozen=True, eq=False)
class Dual:
    """Multipliers of a problem.

    Attributes
    ----------
    a, v : (n,) arrays
        Slopes of each sample's loss in its margin deficit and in its spread.
    e : (K, r) array or None
        A direction per atom of the spread. None: the directions in which `witness` sees its spread.
    witness : (d,) array or None
        A weight vector to take the directions from; neither stored nor needed when `e` is given.
    nu : float
        How much the norms were smoothed whose directions `witness` gives.
    """

    a: Floats
    v: Floats
    e: Floats | None = None
    witness: Floats | None = None
    nu: float = 0.0


def repaired(problem: Problem, dual: Dual, balance: float = 0.0) -> Dual:
    """The nearest feasible dual point that costs nothing to find.

    `balance` is what ``mean(c a y)`` must equal: 0, but for constraints on b.
    """
    loss, spread, c, y = problem.loss, problem.points.spread, problem.weights, problem.y
    n = len(y)
    a = _finite(dual.a, (n,), "a").clip(0.0, 1.0)
    v = np.zeros(n) if spread.is_zero else _finite(dual.v, (n,), "v").clip(0.0, loss.largest_v(a))
    if problem.fit_intercept:
        # Scaling one class down keeps it in K, which is convex and contains 0.
        positive, negative = float((c * a)[y > 0].sum()), float((c * a)[y < 0].sum())
        wanted_positive = max(0.0, min(positive, negative + n * balance))
        wanted_negative = max(0.0, min(negative, positive - n * balance))
        shrink = np.where(
            y > 0,
            wanted_positive / positive if positive > 0 else 1.0,
            wanted_negative / negative if negative > 0 else 1.0,
        )
        a, v = a * shrink, v * shrink
    e = None
    if dual.e is not None:
        e = into_unit_ball(_finite(dual.e, (spread.n_atoms, spread.rank), "e"), problem.points.p)
    witness = None if dual.witness is None else _finite(dual.witness, (spread.n_features,), "witness")
    return Dual(a, v, e, witness, max(0.0, dual.nu))


def dual_vector(problem: Problem, dual: Dual) -> Floats:
    """z, the vector that a dual point puts in place of R's gradient."""
    points, weighted = problem.points, problem.weights / len(problem.y)
    a, offset = weighted * dual.a * problem.y, problem.offset
    if points.spread.is_zero or not dual.v.any():
        return rmatvec(points.means, a, offset)
    omega = points.spread.gather(weighted * dual.v)

    def spread_part() -> Floats:
        if dual.e is not None:
            return points.spread.lift(omega[:, None] * dual.e)
        if dual.witness is not None:
            return points.spread.aligned(dual.witness, omega, points.q, dual.nu)
        return np.zeros(points.shape[1])

    return np.subtract(*both(lambda: rmatvec(points.means, a, offset), spread_part, points.means.size))


@dataclass(frozen=True)
class ConstraintTerms:
    """What constraints g(w, b) <= 0 with multipliers nu >= 0 add to the dual, from a linear minorant of nu.g.

    ``nu.g(w, b) >= slope_w . w + slope_b * b + constant`` for every (w, b).
    """

    slope_w: Floats
    slope_b: float
    constant: float

    def times(self, t: float) -> ConstraintTerms:
        """The same with multipliers t nu, as good as nu for t >= 0."""
        return ConstraintTerms(t * self.slope_w, t * self.slope_b, t * self.constant)


def dual_bound(problem: Problem, dual: Dual, constraints: ConstraintTerms | None = None) -> tuple[float, Dual, Floats]:
    """A true lower bound on the optimum from any dual guess, with the feasible point that gives it and its z."""
    if constraints is not None:
        constraints = constraints.times(_attainable(problem, dual, constraints.slope_b))
    dual = repaired(problem, dual, 0.0 if constraints is None else constraints.slope_b)
    return feasible_bound(problem, dual, dual_vector(problem, dual), constraints)


def feasible_bound(
    problem: Problem, dual: Dual, z: Floats, constraints: ConstraintTerms | None = None
) -> tuple[float, Dual, Floats]:
    """`dual_bound` of a dual point that is feasible already and whose vector z is known."""
    gains = problem.weights * dual.a * problem.margin
    gain = float(gains.mean())
    data, spread = problem.column_sizes
    sizes, extra = float(dual.a.max()) * data + float(dual.v.max()) * spread, 0.0
    if constraints is not None:
        # z was taken from means less `offset`, which changes nothing only where the classes balance.
        extra = constraints.constant
        shift = constraints.slope_w - constraints.slope_b * (0.0 if problem.offset is None else problem.offset)
        z, gain, sizes = z - shift, gain + extra, sizes + np.abs(shift)
    gross = float(np.abs(gains).mean()) + abs(extra)
    bound, t = rounded_down(problem.penalty, gain, gross, z, sizes, len(gains))
    return bound, replace(dual, a=t * dual.a, v=t * dual.v), t * z


def rounded_down(penalty: Penalty, gain: float, gross: float, z: Floats, sizes: Floats, n: int) -> tuple[float, float]:
    """The largest of t gain - R*(t z) over t in [0, 1], less what rounding can have added, and that t.

    `gain` and z are sums of n terms of mean absolute size `gross` and `sizes`.
    """
    t = penalty.best_scale(gain, z)
    # Sums of n terms, in whatever order, are off by at most n units of the last place of their absolute terms.
    unit = 0.5 * float(np.finfo(np.float64).eps) * (n + len(z) + 16)
    rounding = unit * t * gross + penalty.conjugate_error(t * z, unit * t * sizes)
    return max(0.0, t * gain - penalty.conjugate(t * z) - rounding), t


def _attainable(problem: Problem, dual: Dual, balance: float) -> float:
    """The share of `balance` that the classes can reach by scaling one of them down; a little less, for rounding."""
    a = problem.weights * _finite(dual.a, problem.y.shape, "a").clip(0.0, 1.0)
    reach = float(a[problem.y > 0 if balance > 0 else problem.y < 0].mean() * np.mean(problem.y * np.sign(balance) > 0))
    return 1.0 if abs(balance) <= reach else reach * (1.0 - 1e-12) / abs(balance)


def _finite(values: Any, shape: tuple[int, ...], name: str) -> Floats:
    array = np.asarray(values, np.float64)
    if array.shape != shape:
        raise ValueError(f"dual.{name} must have shape {shape}, got {array.shape}.")
    return np.nan_to_num(array, nan=0.0, posinf=0.0, neginf=0.0)
