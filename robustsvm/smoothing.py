r"""A problem seen through smoothed losses and norms: what full-pass solvers work on.

Every kink is rounded off over a width mu, measured in margins: the loss by its own smoothing, the
norm of the spread by nu, chosen so that it counts for no more than mu. The smoothed objective lies above P,
its slopes lie in the dual set, and with the intercept at its best for w they are balanced. So each
look at the data gives a feasible dual point, hence a bound: close to the optimum when w minimises
the smoothed objective, and the closer the smaller mu is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robustsvm.blocks import Floats, both
from robustsvm.dual import Dual, dual_vector, feasible_bound, repaired
from robustsvm.losses import Loss
from robustsvm.problem import Problem

BALANCED = 1e-8  # relative imbalance of the classes that is as good as none
Triple = tuple[Floats, Floats, Floats]


class Look:
    """One forward half-pass: margins and norms at (w, b).

    Parameters
    ----------
    problem : Problem
    w, b : (d,) array, float
    """

    def __init__(self, problem: Problem, w: Floats, b: float) -> None:
        self.problem, self.w, self.b = problem, w, b
        spread, q = problem.points.spread, problem.points.q
        decisions, self.norms = both(
            lambda: problem.decision(w, b), lambda: spread.seen_by_atom(w, q), problem.points.means.size
        )
        self.m = problem.margin - problem.y * decisions

    def objective(self, b: float) -> float:
        """P(w, b), rounded up as `Problem.objective` does."""
        shifted = self.m - self.problem.y * (b - self.b) if b != self.b else self.m
        return self.problem.objective_at(self.w, b, shifted, self.problem.points.spread.expand(self.norms))

    @property
    def risk(self) -> float:
        """The mean loss at (w, b), rounded up."""
        return self.problem.risk_at(self.w, self.b, self.m, self.problem.points.spread.expand(self.norms))

    def spreads(self, nu: float) -> Floats:
        """What w sees of each point, the norms smoothed by `nu`."""
        spread, q = self.problem.points.spread, self.problem.points.q
        return spread.expand(np.hypot(self.norms, nu) if q == 2 else spread.seen_by_atom(self.w, q, nu))

    def value(self, mu: float) -> float:
        """The smoothed objective at (w, b)."""
        problem = self.problem
        losses, _, _ = problem.loss.smoothed(self.m, self.spreads(norm_smoothing(problem, mu)), mu)
        return problem.penalty.value(self.w) + float(np.mean(problem.weights * losses))

    def through(self, mu: float, balance: bool = True) -> View:
        """The smoothed problem at w, its intercept at its best; or as it is."""
        problem, nu = self.problem, norm_smoothing(self.problem, mu)
        s = self.spreads(nu)
        if not (balance and problem.fit_intercept):
            return View(self, mu, nu, self.b, self.m, s, *problem.loss.smoothed(self.m, s, mu))
        shift, m, smoothed = _balanced(problem, self.m, s, mu)
        there = self.b if problem.offset is None else self.b + float(problem.offset @ self.w)
        if abs(there) > 1e3 * (1.0 + abs(there + shift)):
            # Margins taken at a huge intercept have lost the digits that count at a small one.
            return Look(problem, self.w, self.b + shift).through(mu)
        return View(self, mu, nu, self.b + shift, m, s, *smoothed)


@dataclass(frozen=True, eq=False)
class View:
    """A `Look` through a smoothing of width mu: values and slopes of the smoothed losses."""

    look: Look
    mu: float
    nu: float
    b: float
    m: Floats
    s: Floats
    losses: Floats
    a: Floats
    v: Floats

    @property
    def problem(self) -> Problem:
        """What is looked at."""
        return self.look.problem

    @property
    def w(self) -> Floats:
        """Where it is looked at from."""
        return self.look.w

    @cached_property
    def value(self) -> float:
        """The smoothed objective."""
        return self.problem.penalty.value(self.w) + float(np.mean(self.problem.weights * self.losses))

    @cached_property
    def objective(self) -> float:
        """P(w, b)."""
        return self.look.objective(self.b)

    @cached_property
    def dual(self) -> Dual:
        """The slopes as a feasible dual point."""
        return repaired(self.problem, Dual(self.a, self.v, witness=self.w, nu=self.nu))

    @cached_property
    def z(self) -> Floats:
        """The dual vector of the slopes: the backward half-pass."""
        return dual_vector(self.problem, self.dual)

    @cached_property
    def bound(self) -> tuple[float, Dual, Floats]:
        """A lower bound on the optimum, with the dual point behind it and its z."""
        return feasible_bound(self.problem, self.dual, self.z)

    @property
    def slope_part(self) -> float:
        """The part of the gap that is left of the gradient; the rest comes from smoothing."""
        penalty = self.problem.penalty
        return max(0.0, penalty.value(self.w) + penalty.conjugate(self.z) - float(self.z @ self.w))


def norm_smoothing(problem: Problem, mu: float) -> float:
    """The nu that changes losses by about mu at most."""
    spread = problem.points.spread
    return smoothing_of_norms(problem.loss, mu, float(spread.radii().max()), spread.rank, problem.points.q)


def smoothing_of_norms(loss: Loss, mu: float, radius: float, rank: int, q: float) -> float:
    """`norm_smoothing` of points whose atoms have `rank` columns and whose radii are at most `radius`."""
    if rank == 0 or radius == 0:
        return 0.0
    rise = loss.steepest * radius * rank ** (1.0 / q)
    return mu / rise if rise > 0 else mu


def _balanced(problem: Problem, m: Floats, s: Floats, mu: float) -> tuple[float, Floats, Triple]:
    """What to add to b so that the smoothed slopes of the classes balance, and margins and losses there.

    Newton's method inside a bracket, on a monotone function.
    """
    y, c, loss = problem.y, problem.weights, problem.loss
    low, high, shift, width = -np.inf, np.inf, 0.0, max(mu, 1e-3)
    while True:
        shifted = m - y * shift if shift != 0 else m
        smoothed = loss.smoothed(shifted, s, mu)
        weighted = c * smoothed[1]
        pull = float(weighted @ y)  # falls as b rises
        if abs(pull) <= BALANCED * float(weighted.sum()):
            return shift, shifted, smoothed
        low, high = (shift, high) if pull > 0 else (low, shift)
        curvature = float(np.dot(c, loss.curvature(shifted, s, mu)[0]))
        proposal = shift + pull / curvature if curvature > 0 else np.nan
        if not low < proposal < high or not abs(proposal - shift) <= 4.0 * width:
            if np.isinf(high):
                proposal, width = shift + width, 2.0 * width
            elif np.isinf(low):
                proposal, width = shift - width, 2.0 * width
            else:
                proposal = 0.5 * (low + high)
        if proposal in (low, high):  # the bracket is as narrow as numbers are
            return shift, shifted, smoothed
        shift = float(proposal)
