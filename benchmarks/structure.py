"""Structure is used: vectorised cones, parameters, shared and low-rank spreads. Run by ``make benchmark``.

Seconds differ between machines, so what counts are the ratios; the last two are measured against generous limits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np

import robustsvm as rs


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def synthetic(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) / np.sqrt(d) + 0.3 * rng.normal(size=n) > 0, 1, -1)
    return X, y, rng


def compile_seconds(problem: cp.Problem) -> float:
    """From a CVXPY problem to the solver's matrices; nothing is solved."""
    return timed(lambda: problem.get_problem_data("CLARABEL"))[0]


def plain_program(points: rs.UncertainPoints, y: np.ndarray, lam: float, gamma: float) -> cp.Problem:
    """The formula as one would type it: one constraint per sample."""
    X, A, n = points.means, points.spread.factor(), len(points)
    w, b, xi = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(n, nonneg=True)
    rows = [y[i] * (X[i] @ w + b) - gamma * cp.norm(A[i].T @ w, 2) >= 1 - xi[i] for i in range(n)]
    return cp.Problem(cp.Minimize(lam / 2 * cp.sum_squares(w) + cp.sum(xi) / n), rows)


def compilation() -> None:
    X, y, rng = synthetic(3000, 20)
    points = rs.UncertainPoints(X, std=rng.uniform(0.1, 0.5, (3000, 20)))
    one_by_one = compile_seconds(plain_program(points, y, 1e-2, 1.0))
    build, f = timed(lambda: rs.formulations.worst_case(points, y, lam=1e-2))
    first = build + compile_seconds(f.cvxpy_problem)
    f.parameters["lam"].value, f.parameters["gamma"].value = 2e-2, 0.5
    again = compile_seconds(f.cvxpy_problem)
    print("n = 3000, d = 20, an error bar per value")
    print(f"  compile, one constraint per sample   {one_by_one:8.3f} s")
    print(f"  build and compile, vectorised        {first:8.3f} s   {one_by_one / first:6.1f} times faster (goal 15)")
    print(f"  compile after changing parameters    {again:8.4f} s   {again / first:6.2%} of the first (goal < 5 %)")


def shared_covariances() -> None:
    X, y, rng = synthetic(20_000, 100)
    G = rng.normal(size=(5, 100, 100)) * 0.03
    points = rs.UncertainPoints(X, cov=G @ G.transpose(0, 2, 1), group=rng.integers(0, 5, 20_000))
    seconds, solution = timed(lambda: rs.formulations.worst_case(points, y, lam=1e-2).solve())
    print(
        f"n = 20 000, d = 100, five covariances in groups: {seconds:.1f} s in all (goal < 60), gap {solution.gap:.1e}"
    )


def low_rank() -> None:
    X, y, rng = synthetic(3000, 100)
    points = rs.UncertainPoints(X, factor=0.1 * rng.normal(size=(3000, 100, 3)))
    seconds, solution = timed(lambda: rs.formulations.worst_case(points, y, lam=1e-2).solve())
    print(f"n = 3000, d = 100, factors of rank 3: {seconds:.1f} s in all (goal < 10), gap {solution.gap:.1e}")


def main() -> None:
    compilation()
    shared_covariances()
    low_rank()


if __name__ == "__main__":
    main()
