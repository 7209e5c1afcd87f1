"""Minibatches: the same losses and norms on a few rows, for steps that cannot wait for a pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from robustsvm.atoms import Spread
from robustsvm.blocks import Floats, matvec, rmatvec
from robustsvm.problem import Problem


class Minibatch:
    """Some rows of a problem, copied.

    Parameters
    ----------
    problem : Problem
    rows : array of int
    """

    def __init__(self, problem: Problem, rows: Any) -> None:
        self.problem = problem
        self.X = problem.points.means[rows]
        self.spread: Spread = problem.points.spread.take(rows, len(rows))
        self.y, self.c, self.margin = problem.y[rows], problem.weights[rows], problem.margin[rows]

    def slopes(self, w: Floats, b: float, mu: float, nu: float) -> tuple[Floats, Floats]:
        """(a, v) of each row's smoothed loss; of the loss itself where mu = 0."""
        m = self.margin - self.y * (matvec(self.X, w) + b)
        s = self.spread.seen(w, self.problem.points.q, nu)
        if mu == 0:
            return self.problem.loss.slopes(m, s)
        _, a, v = self.problem.loss.smoothed(m, s, mu)
        return a, v

    def pull(self, a: Floats, v: Floats, w: Floats, nu: float) -> tuple[Floats, float]:
        """Minus the gradient of the mean risk in (w, b) whose slopes are (a, v) and whose norms are seen from w."""
        return self.difference((a, v, w), None, nu)

    def difference(
        self, new: tuple[Floats, Floats, Floats], old: tuple[Floats, Floats, Floats] | None, nu: float
    ) -> tuple[Floats, float]:
        """`pull` at one point less that at another, each (a, v, w); the products with X are taken once."""
        share = self.c / len(self.y)
        a = new[0] if old is None else new[0] - old[0]
        balance = share * a * self.y
        out = rmatvec(self.X, balance)
        if not self.spread.is_zero:
            q = self.problem.points.q
            out -= self.spread.aligned(new[2], self.spread.gather(share * new[1]), q, nu)
            if old is not None:
                out += self.spread.aligned(old[2], self.spread.gather(share * old[1]), q, nu)
        return out, float(balance.sum()) if self.problem.fit_intercept else 0.0


def shuffled(n: int, size: int, rng: np.random.Generator) -> Iterator[Any]:
    """Row numbers of minibatches that visit each of n rows once, in random order."""
    order = rng.permutation(n)
    for start in range(0, n, size):
        yield order[start : start + size]
