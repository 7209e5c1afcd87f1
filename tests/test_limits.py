"""What each formulation becomes in the limit, and what must not change an answer."""

import numpy as np
import pytest
from sklearn.svm import SVC

import robustsvm as rs
from tests.cases import LOSSES, SPREADS, make_points

FORMULATIONS = {
    "nominal": rs.formulations.nominal,
    "worst_case": rs.formulations.worst_case,
    "chance_constrained": rs.formulations.chance_constrained,
    "expected_hinge": rs.formulations.expected_hinge,
}


@pytest.mark.parametrize("name", FORMULATIONS)
@pytest.mark.parametrize("lam", [1e-3, 1e-1])
def test_without_spread_every_formulation_is_scikit_learns_svc(name, lam):
    points, y = make_points("certain", n=80, seed=4)
    solution = FORMULATIONS[name](points, y, lam=lam).solve(tol=1e-7)
    model = SVC(kernel="linear", C=1 / (80 * lam), tol=1e-8).fit(points.means, y)
    problem = rs.Problem(points, y, rs.losses.Hinge(), lam)
    np.testing.assert_allclose(solution.objective, problem.objective(model.coef_, model.intercept_), rtol=1e-6)
    assert ((solution.dual.a > 1e-3) & (solution.dual.a < 1 - 1e-3)).any()  # then b is unique too
    np.testing.assert_allclose(points.means @ solution.w + solution.b, model.decision_function(points.means), atol=1e-4)


@pytest.mark.parametrize("kind", SPREADS)
def test_radius_zero_and_even_odds_are_nominal(kind):
    points, y = make_points(kind)
    nominal = rs.formulations.nominal(points, y, lam=0.05).solve()
    still = rs.formulations.worst_case(points, y, lam=0.05, gamma=0.0).solve()
    even = rs.formulations.chance_constrained(points, y, lam=0.05, epsilon=0.5).solve()
    vanishing = rs.formulations.expected_hinge(points.scaled(1e-9), y, lam=0.05).solve()
    for solution in (still, even, vanishing):
        np.testing.assert_allclose(solution.objective, nominal.objective, rtol=1e-6)
        np.testing.assert_allclose(solution.w, nominal.w, atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("kind", ["shared_full", "shared_factor", "shared_diagonal"])
def test_shared_spreads_equal_copies_of_them(kind, loss):
    points, y = make_points(kind)
    group, values = points.spread.group, points.spread.values
    name = {"shared_full": "cov", "shared_factor": "factor", "shared_diagonal": "std"}[kind]
    copies = rs.UncertainPoints(points.means, **{name: values[group]})
    assert copies.spread.n_atoms > points.spread.n_atoms
    one, other = (rs.solve(rs.Problem(pts, y, loss, 0.05)) for pts in (points, copies))
    np.testing.assert_allclose(one.objective, other.objective, rtol=2e-6)


def test_one_shared_covariance_equals_n_copies():
    points, y = make_points("full")
    cov = points.spread.values[0]
    for loss in LOSSES:
        shared, copied = (
            rs.solve(rs.Problem(rs.UncertainPoints(points.means, cov=c), y, loss, 0.05))
            for c in (cov, np.repeat(cov[None], 40, axis=0))
        )
        np.testing.assert_allclose(shared.objective, copied.objective, rtol=2e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("kind", SPREADS)
def test_weights_equal_repeated_rows(kind, loss):
    points, y = make_points(kind, n=24)
    counts = np.random.default_rng(0).integers(0, 4, 24)
    counts[:2] = 1
    rows = np.repeat(np.arange(24), counts)
    weighted = rs.solve(rs.Problem(points, y, loss, 0.05, sample_weight=counts))
    repeated = rs.solve(rs.Problem(points[rows], y[rows], loss, 0.05))
    np.testing.assert_allclose(weighted.objective, repeated.objective, rtol=2e-6)
    assert weighted.gap <= 1e-6


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_ball_and_ridge_meet_where_the_norm_is_the_same(loss):
    points, y = make_points("diagonal")
    ridge = rs.solve(rs.Problem(points, y, loss, 0.05), tol=1e-8)
    radius = float(np.linalg.norm(ridge.w))
    ball = rs.solve(rs.Problem(points, y, loss, penalty=rs.penalties.Ball(radius)))
    assert ball.gap <= 1e-6
    assert np.linalg.norm(ball.w) <= radius * (1 + 1e-12)
    np.testing.assert_allclose(ball.objective, ridge.objective - 0.025 * radius**2, rtol=1e-5)


def test_a_margin_of_its_own_for_each_sample():
    points, y = make_points("diagonal")
    rng = np.random.default_rng(0)
    problem = rs.Problem(points, y, LOSSES[1], 0.05, margin=rng.uniform(0.2, 2, 40))
    solution = rs.solve(problem)
    assert solution.gap <= 1e-6
    for _ in range(50):
        w, b = solution.w + 0.05 * rng.normal(size=4), solution.b + 0.05 * rng.normal()
        assert problem.objective(w, b) >= solution.lower_bound


def test_labels_swapped_and_features_moved():
    points, y = make_points("diagonal")
    f = rs.formulations.worst_case
    plain, swapped = f(points, y, lam=0.05).solve(), f(points, -y, lam=0.05).solve()
    np.testing.assert_allclose(swapped.w, -plain.w, atol=1e-4)
    moved = rs.UncertainPoints(points.means + 1000.0, std=points.spread.values)
    np.testing.assert_allclose(f(moved, y, lam=0.05).solve().objective, plain.objective, rtol=2e-6)


def test_sparse_single_precision_and_fortran_order_agree():
    dense, y = make_points("diagonal")
    expected = rs.formulations.worst_case(dense, y, lam=0.05).solve().objective
    sparse, _ = make_points("diagonal", sparse=True)
    single, _ = make_points("diagonal", dtype=np.float32)
    fortran = rs.UncertainPoints(np.asfortranarray(dense.means), std=np.asfortranarray(dense.spread.values))
    for points, rtol in ((sparse, 2e-6), (fortran, 2e-6), (single, 1e-5)):
        solution = rs.formulations.worst_case(points, y, lam=0.05).solve()
        assert solution.gap <= 1e-6
        np.testing.assert_allclose(solution.objective, expected, rtol=rtol)
