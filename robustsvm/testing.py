"""For people who write solvers: problems with known optima, and rulers to hold an answer against.

>>> import robustsvm as rs
>>> reference = rs.testing.reference_problems()[0]
>>> answer = my_solver(reference.problem)  # doctest: +SKIP
>>> rs.testing.assert_certified(reference.problem, answer.w, answer.b, gap=1e-3)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from robustsvm.certification import certify
from robustsvm.datasets import synthetic
from robustsvm.hyperplanes import hyperplane_of
from robustsvm.losses import ExpectedHinge, Hinge, Loss, WorstCase
from robustsvm.points import UncertainPoints
from robustsvm.problem import Problem
from robustsvm.scalars import as_generator, as_number
from robustsvm.solution import Certificate, Solution, honest_bound, relative_gap
from robustsvm.solvers import solve


@dataclass(frozen=True)
class Reference:
    """A problem and its optimum, known to a gap of 1e-6 or better.

    Attributes
    ----------
    name : str
        What it is about.
    problem : Problem
        Seeded: the same numbers every time.
    """

    name: str
    problem: Problem

    @cached_property
    def solution(self) -> Solution:
        """The optimum: ``solution.lower_bound <= P* <= solution.objective``. Solved when first asked for."""
        return solve(self.problem, tol=1e-6)


class TracePoint(NamedTuple):
    """One iterate: its objective, and its gap to the one lower bound of the trace."""

    objective: float
    gap: float


def reference_problems(random_state: int = 0) -> list[Reference]:
    """Seeded problems of every loss, from easy to nasty.

    Returns
    -------
    list of Reference
        Small enough to solve in a second each; `Reference.solution` is the certified optimum.

    Examples
    --------
    >>> [reference.name for reference in reference_problems()][:3]
    ['hinge', 'worst_case', 'expected_hinge']
    """
    losses: list[Loss] = [Hinge(), WorstCase(gamma=0.3), ExpectedHinge()]
    rng = as_generator(random_state)
    points, y = synthetic(400, 10, random_state=random_state)
    found = [Reference(loss.name, Problem(points, y, loss, lam=1e-2)) for loss in losses]
    scaled, labels = synthetic(400, 10, badly_scaled=True, random_state=random_state)
    rotated, turned = synthetic(400, 10, badly_scaled=True, rotated=True, random_state=random_state)
    for loss in losses[1:]:
        found.append(Reference(f"{loss.name}, badly scaled", Problem(scaled, labels, loss, lam=1e-2)))
        found.append(Reference(f"{loss.name}, badly scaled and rotated", Problem(rotated, turned, loss, lam=1e-2)))
        found.append(Reference(f"{loss.name}, little regularised", Problem(points, y, loss, lam=1e-4)))
    box = UncertainPoints(points.means, std=0.3 * rng.random(points.shape), p=np.inf)
    found.append(Reference("worst_case, boxes", Problem(box, y, losses[1], lam=1e-2)))
    factor = UncertainPoints(points.means, factor=0.3 * rng.standard_normal((*points.shape, 2)))
    found.append(Reference("worst_case, factors of rank 2", Problem(factor, y, losses[1], lam=1e-2)))
    weights = rng.uniform(0.1, 2.0, len(y))
    rare = Problem(points, y, losses[2], lam=1e-2, sample_weight=np.where(y > 0, 0.05, 1.0) * weights)
    found.append(Reference("expected_hinge, weighted, one class rare", rare))
    bare = Problem(points, y, losses[1], lam=1e-2, fit_intercept=False)
    found.append(Reference("worst_case, no intercept", bare))
    return found


def assert_certified(problem: Problem, w: Any, b: Any = None, gap: float = 1e-3) -> Certificate:
    """Raise AssertionError unless (w, b) is within `gap` of the optimum of `problem`, and can be proved to be.

    Parameters
    ----------
    problem : Problem
    w, b : array and float, or a Solution, or a fitted linear model of scikit-learn in place of both
    gap : float
        Relative gap that is allowed.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> reference = reference_problems()[2]
    >>> assert_certified(reference.problem, reference.solution, gap=1e-5).gap <= 1e-5
    True
    >>> assert_certified(reference.problem, [0.0] * 10, gap=1e-3)
    Traceback (most recent call last):
    AssertionError: objective 1, at least 0.4119693 possible: a gap of 5.9e-01, more than 0.001.
    """
    gap = as_number(gap, "gap", at_least=0.0)
    found = certify(problem, w, b, tol=max(0.5 * gap, 1e-12))
    if not found.gap <= gap:
        raise AssertionError(
            f"objective {found.objective:.7g}, at least {found.lower_bound:.7g} possible: "
            f"a gap of {found.gap:.1e}, more than {gap:g}."
        )
    return found


def trace(problem: Problem, iterates: Iterable[Any], *, lower_bound: float | None = None) -> list[TracePoint]:
    """Objective and gap of each iterate of a solver, all against one lower bound.

    Parameters
    ----------
    problem : Problem
    iterates : iterable of (w, b), arrays w, Solutions, or fitted linear models
        In the order the solver made them.
    lower_bound : float, optional
        A bound that is known, such as ``solution.lower_bound``; by default the problem is solved for one. One that
        lies above an objective is false, and raises.

    Returns
    -------
    list of TracePoint
        An iterate with NaN or infinity in it has an infinite objective.

    Examples
    --------
    >>> problem = reference_problems()[0].problem
    >>> [round(point.gap, 2) for point in trace(problem, [[0.0] * 10, problem.y @ problem.points.means / 400])]
    [0.68, 0.41]
    """
    if isinstance(iterates, (tuple, Solution)) or not isinstance(iterates, Iterable):
        raise TypeError(f"iterates must be a list of (w, b), got {type(iterates).__name__}; pass [iterate] for one.")
    bound = solve(problem).lower_bound if lower_bound is None else as_number(lower_bound, "lower_bound")
    found = []
    for number, iterate in enumerate(iterates):
        pair = iterate if isinstance(iterate, tuple) and len(iterate) == 2 else (iterate, None)
        try:
            objective = problem.objective(*hyperplane_of(*pair))
        except (TypeError, ValueError) as error:
            if "NaN or infinity" in str(error) or "overflow" in str(error):
                objective = float("inf")  # a solver that diverged: the trace shows it
            else:
                raise type(error)(f"iterates[{number}]: {error}") from None
        found.append(TracePoint(objective, relative_gap(objective, honest_bound(objective, bound))))
    return found
