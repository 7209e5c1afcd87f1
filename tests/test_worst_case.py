"""The worst-case formulation against independent programs: one constraint per sample, unscaled, other solvers."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize

import robustsvm as rs
from tests.cases import case_id, make_points, pairs


def plain_program(points, y, lam, gamma):
    """The formula as it stands in the paper, sample by sample; returns its smallest value."""
    X, A, n = points.means, points.spread.factor(), len(points)
    w, b, xi = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(n)
    rows = [xi >= 0]
    for i in range(n):
        seen = gamma * cp.norm(A[i].T @ w, points.q) if A.shape[2] else 0.0
        rows.append(y[i] * (X[i] @ w + b) - seen >= 1 - xi[i])
    problem = cp.Problem(cp.Minimize(lam / 2 * cp.sum_squares(w) + cp.sum(xi) / n), rows)
    problem.solve(solver="ECOS" if points.q == 2 else "CLARABEL")
    assert problem.status == "optimal"
    return problem.value


@pytest.mark.parametrize("seed,lam,gamma", [(0, 0.05, 1.0), (1, 1e-3, 0.3), (2, 0.05, 60.0)])
@pytest.mark.parametrize("kind,p", pairs(), ids=case_id)
def test_equals_the_plain_program(kind, p, seed, lam, gamma):
    points, y = make_points(kind, p, n=30, seed=seed)
    solution = rs.formulations.worst_case(points, y, lam=lam, gamma=gamma).solve()
    assert solution.gap <= 1e-6
    assert solution.status == "optimal"
    np.testing.assert_allclose(solution.objective, plain_program(points, y, lam, gamma), rtol=1e-6)


@pytest.mark.parametrize(
    "kind,p", [pair for pair in pairs() if pair[0] not in ("certain", "scalar", "radii")], ids=case_id
)
def test_equals_the_plain_program_on_two_hundred_points(kind, p):
    points, y = make_points(kind, p, n=200, d=10, seed=7)
    solution = rs.formulations.worst_case(points, y, lam=1e-2, gamma=0.5).solve()
    assert solution.gap <= 1e-6
    np.testing.assert_allclose(solution.objective, plain_program(points, y, 1e-2, 0.5), rtol=1e-6)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, np.inf])
def test_a_radius_so_large_that_nothing_can_be_said(p):
    points, y = make_points("diagonal", p, n=60)
    solution = rs.formulations.worst_case(points.scaled(1e3), y, lam=0.05, gamma=100.0).solve()
    assert np.abs(solution.w).max() < 1e-6
    assert solution.gap <= 1e-6
    minority = min((y > 0).mean(), (y < 0).mean())
    np.testing.assert_allclose(solution.objective, 2 * minority, rtol=1e-6)


def test_boxes_make_sparse_weights_and_still_certify():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 10)), np.where(rng.random(200) < 0.5, 1, -1)
    X[:, 0] += 1.5 * y
    points = rs.UncertainPoints(X, std=rng.uniform(0.1, 0.3, (200, 10)), p=np.inf)
    solution = rs.formulations.worst_case(points, y, lam=0.01).solve()
    assert (np.abs(solution.w) < 1e-6).sum() >= 3
    assert np.abs(solution.w).max() > 0.1
    assert solution.gap <= 1e-6
    np.testing.assert_allclose(solution.objective, plain_program(points, y, 0.01, 1.0), rtol=1e-6)


@pytest.mark.parametrize("p", [1.5, 2.0, 3.0])
def test_equals_a_smooth_solver_of_scipy(p):
    """Sequential quadratic programming on the smooth epigraph form: no cone in sight."""
    points, y = make_points("diagonal", p, n=25, d=3, seed=5)
    X, E, q = points.means, points.spread.values, points.q
    problem = rs.Problem(points, y, rs.losses.WorstCase(0.5), 0.1)
    n, d = X.shape

    def slack(v):
        w, b, xi = v[:d], v[d], v[d + 1 :]
        return xi - 1 + y * (X @ w + b) - 0.5 * (np.abs(E * w) ** q).sum(axis=1) ** (1 / q)

    start = np.concatenate([problem.y @ X / n, [0.0], np.full(n, 2.0)])
    found = minimize(
        lambda v: 0.05 * v[:d] @ v[:d] + v[d + 1 :].mean(),
        start,
        constraints={"type": "ineq", "fun": slack},
        bounds=[(None, None)] * (d + 1) + [(0, None)] * n,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert found.success
    np.testing.assert_allclose(rs.solve(problem).objective, found.fun, rtol=1e-6)


def test_a_radius_per_sample():
    points, y = make_points("full", n=30)
    radii = np.random.default_rng(0).uniform(0, 2, 30)
    f = rs.formulations.worst_case(points, y, lam=0.05, gamma=radii)
    np.testing.assert_allclose(f.solve().objective, plain_program(points.scaled(radii), y, 0.05, 1.0), rtol=1e-6)
    f.parameters["gamma"].value = 2 * radii
    solution = f.solve()
    assert solution.gap <= 1e-6
    np.testing.assert_allclose(solution.objective, plain_program(points.scaled(2 * radii), y, 0.05, 1.0), rtol=1e-6)


def test_larger_sets_cost_more_and_contain_smaller_ones():
    points, y = make_points("diagonal", n=40)
    objectives = [rs.formulations.worst_case(points, y, lam=0.05, gamma=g).solve().objective for g in (0, 0.5, 1, 2)]
    assert (np.diff(objectives) > 1e-4).all()
    diamonds, balls, boxes = (
        rs.formulations.worst_case(points.with_p(p), y, lam=0.05).solve().objective for p in (1, 2, np.inf)
    )
    assert diamonds < balls < boxes
