"""What the benchmarks share: timing, one pass as the unit, memory in a process of its own."""

from __future__ import annotations

import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import robustsvm as rs

LOSSES = (rs.losses.ExpectedHinge(), rs.losses.WorstCase(gamma=0.3))


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and result."""
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def median_seconds(action: Callable[[], Any], repeats: int = 5) -> float:
    """The median of several runs."""
    return statistics.median(timed(action)[0] for _ in range(repeats))


def one_pass(problem: rs.Problem) -> float:
    """Seconds of one objective and gradient over all data, written out in NumPy: X w, V w^2, X^T a, V^T v.

    For variances per value. It is what a hand-written solver would pay: no checks, no bound, no copies.
    """
    X, V = problem.points.means, problem.points.spread.values
    w = np.random.default_rng(0).normal(size=X.shape[1]) / np.sqrt(X.shape[1])

    def objective_and_gradient() -> tuple[float, np.ndarray]:
        m = 1.0 - problem.y * (X @ w)
        s = np.sqrt(V @ w**2)
        value = float(problem.loss.value(m, s).mean())
        a, v = problem.loss.slopes(m, s)
        return value, w * (V.T @ (v / s)) - X.T @ (a * problem.y)

    objective_and_gradient()
    return median_seconds(objective_and_gradient)


def in_own_process(action: Callable[..., Any], *arguments: Any) -> Any:
    """The result of `action` in a fresh process, so that its peak memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(action, arguments)


def peak_megabytes() -> float:
    """Most memory this process ever had, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def heading(text: str) -> None:
    """A line above a table."""
    print(f"\n{text}\n{'-' * len(text)}")
