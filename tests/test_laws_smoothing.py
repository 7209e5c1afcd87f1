"""Laws of smoothing: smooth norms and losses, their derivatives, and the steps taken with them."""

import numpy as np
import pytest

import robustsvm as rs
from robustsvm import curvature
from robustsvm.curvature import RiskCurvature, drawn, solve_scaled
from robustsvm.norms import conjugate_exponent, norm_curvature, row_norms, smoothed_directions, smoothed_norms
from robustsvm.smoothing import Look
from tests.cases import LOSSES, NORMS, SPREADS, case_id, loss_cases, make_problem

QS = [conjugate_exponent(p) for p in NORMS]
PENALTIES = (rs.penalties.Ridge(0.3), rs.penalties.Ball(0.5), rs.penalties.Ball(50.0))


def numerical(f, x, h=1e-6):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


@pytest.mark.parametrize("nu", (0.0, 1e-3, 0.3))
@pytest.mark.parametrize("q", QS, ids=case_id)
def test_smooth_norms_lie_just_above_the_norm(q, nu):
    rng = np.random.default_rng(0)
    U = np.concatenate([rng.normal(size=(30, 4)), 1e3 * rng.normal(size=(5, 4)), np.zeros((1, 4)), np.ones((1, 4))])
    smooth, exact = smoothed_norms(U, q, nu), row_norms(U, q)
    allowed = nu * np.log(8.0) if np.isinf(q) else nu * 4 ** (1 / q)
    assert (smooth >= exact * (1 - 1e-15)).all()
    assert (smooth <= exact + allowed + 1e-12).all()
    E = smoothed_directions(U, q, nu)
    assert (row_norms(E, conjugate_exponent(q)) <= 1 + 1e-14).all()
    # Convexity: the tangent at one row lies below the norm of every other row.
    tangents = smooth[:, None] + np.einsum("kr,klr->kl", E, U[None] - U[:, None])
    assert (tangents <= smooth[None, :] + 1e-9 * (1 + smooth)).all()


@pytest.mark.parametrize("q", QS, ids=case_id)
def test_directions_and_hessians_of_smooth_norms(q):
    rng = np.random.default_rng(1)
    for u in (rng.normal(size=3), np.array([0.5, 0.5, -0.5]), np.array([0.0, 0.7, 0.1])):
        E, D, c = norm_curvature(u[None], q, 0.2)
        np.testing.assert_allclose(E[0], numerical(lambda x: smoothed_norms(x[None], q, 0.2)[0], u), atol=1e-7)
        hessian = np.diag(D[0]) - c[0] * np.outer(E[0], E[0])
        found = numerical(lambda x: smoothed_directions(x[None], q, 0.2)[0], u)
        np.testing.assert_allclose(hessian, found, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_curvature_of_losses(loss):
    rng = np.random.default_rng(2)
    m, s, mu, h = rng.normal(size=50), rng.uniform(0.3, 2.0, 50), 0.05, 1e-5
    k, r = loss.curvature(m, s, mu)
    slopes = [loss.smoothed(m + h, s, mu)[1:], loss.smoothed(m - h, s, mu)[1:]]
    np.testing.assert_allclose(k, (slopes[0][0] - slopes[1][0]) / (2 * h), atol=1e-5)
    np.testing.assert_allclose(k * r, (slopes[0][1] - slopes[1][1]) / (2 * h), atol=1e-5)
    assert loss.steepest >= loss.largest_v(np.linspace(0, 1, 101)).max() - 1e-12


@pytest.mark.parametrize("kind, p, loss", loss_cases(), ids=case_id)
def test_views_give_gradients_and_true_bounds(kind, p, loss):
    problem = make_problem(kind, loss, p, n=30, sample_weight=np.random.default_rng(3).uniform(0.1, 2, 30))
    optimum = rs.solve(problem, "exact").objective
    rng = np.random.default_rng(4)
    for w, mu in ((rng.normal(size=4), 0.3), (10 * rng.normal(size=4), 0.02), (np.zeros(4), 0.5)):
        view = Look(problem, w, 3.0).through(mu)
        gradient = numerical(lambda x, mu=mu: Look(problem, x, 0.0).through(mu).value, w)
        np.testing.assert_allclose(problem.penalty.gradient(w) - view.z, gradient, atol=2e-5)
        assert abs(np.mean(problem.weights * view.a * problem.y)) <= 1e-7
        assert view.value >= view.objective - 1e-12  # smoothing lifts
        assert view.bound[0] <= optimum * (1 + 1e-12)  # from anywhere, a true bound
        assert problem.loss.in_dual_set(view.a, view.v).all()


@pytest.mark.parametrize("fit_intercept", (True, False))
@pytest.mark.parametrize("kind, p, loss", loss_cases(), ids=case_id)
def test_second_derivatives(kind, p, loss, fit_intercept, monkeypatch):
    problem = make_problem(kind, loss, p, n=25, fit_intercept=fit_intercept)
    # The expected hinge is smooth by itself, and a term of the order of mu is left out of its Hessian.
    own = isinstance(loss, rs.losses.ExpectedHinge)
    w, mu = np.random.default_rng(5).normal(size=4), 0.02 if own else 0.4
    view = Look(problem, w, 0.3).through(mu)
    H = RiskCurvature(view, 1000, np.random.default_rng(0))
    found = -numerical(lambda x: Look(problem, x, 0.3).through(mu).z, w, 1e-6 if own else 1e-5)
    tolerance = 2e-2 * np.abs(found).max() if own else 1e-5
    np.testing.assert_allclose(H.H, found, atol=tolerance)
    monkeypatch.setattr(curvature, "DENSE_FEATURES", 0)
    implicit = RiskCurvature(view, 1000, np.random.default_rng(0))
    for u in np.eye(4):
        np.testing.assert_allclose(implicit.times(u), H.H @ u, atol=1e-12)
    np.testing.assert_allclose(implicit.follow, H.follow, atol=1e-12)
    ahead = Look(problem, w + 1e-5, 0.3).through(mu).b - Look(problem, w - 1e-5, 0.3).through(mu).b
    assert own or not fit_intercept or ahead / 2e-5 == pytest.approx(-H.follow.sum(), rel=1e-3, abs=1e-6)
    g = np.arange(1.0, 5.0)
    residual = H.H @ implicit.solve(0.2, g) + 0.2 * implicit.solve(0.2, g) - g
    assert np.linalg.norm(residual) <= 0.02 * np.linalg.norm(g)
    np.testing.assert_allclose(H.H @ H.solve(0.2, g) + 0.2 * H.solve(0.2, g), g, rtol=1e-9)


def test_drawn_rows_stand_for_all():
    rng = np.random.default_rng(6)
    weights, values = rng.random(5000) ** 8, rng.normal(size=5000)
    rows, times = drawn(weights, 10_000, rng)
    np.testing.assert_array_equal(times, weights[rows])
    rows, times = drawn(weights, 500, rng)
    assert len(rows) <= 500
    assert times.sum() == pytest.approx(weights.sum())
    exact, spread = weights @ values, np.sqrt((weights * weights.sum() / 500 * values**2).sum())
    assert abs(times @ values[rows] - exact) <= 5 * spread
    assert len(drawn(np.zeros(10), 5, rng)[0]) == 0


def test_solve_scaled_does_not_mind_units():
    rng = np.random.default_rng(7)
    A, units = rng.normal(size=(5, 5)), 10.0 ** np.array([-8, -3, 0, 4, 8])
    H = (A @ A.T + np.eye(5)) * units[:, None] * units
    x = rng.normal(size=5) / units
    np.testing.assert_allclose(solve_scaled(H, H @ x), x, rtol=1e-9)
    singular = np.ones((3, 3))
    assert np.isfinite(solve_scaled(singular, np.ones(3))).all()


class Matrix:
    def __init__(self, H):
        self.H = H

    def times(self, u):
        return self.H @ u

    def solve(self, theta, g):
        return np.linalg.solve(self.H + theta * np.eye(len(g)), g)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_newton_steps_minimise_their_model(penalty):
    rng = np.random.default_rng(8)
    for rank in (4, 2):
        A = rng.normal(size=(4, rank))
        H, z = A @ A.T, rng.normal(size=4)
        w = penalty.prox(rng.normal(size=4), 1.0)

        def model(u, H=H, z=z, w=w):
            return penalty.value(u) - z @ (u - w) + 0.5 * (u - w) @ H @ (u - w)

        best = w + penalty.newton_step(w, z, Matrix(H))
        for size in (1e-4, 1e-2, 1.0, 100.0):
            for direction in rng.normal(size=(50, 4)):
                other = (
                    penalty.prox(best + size * direction, 0.0) if penalty.value(best) == 0 else best + size * direction
                )
                assert model(best) <= model(other) + 1e-7 * (1 + abs(model(other)))
    assert np.abs(penalty.newton_step(np.zeros(4), np.zeros(4), Matrix(np.eye(4)))).max() == 0


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_prox_with_a_step_for_each_feature(penalty):
    rng = np.random.default_rng(9)
    for _ in range(20):
        w, steps = 3 * rng.normal(size=4), 10.0 ** rng.uniform(-3, 3, 4)
        best = penalty.prox(w, steps)

        def target(u, w=w, steps=steps):
            return penalty.value(u) + ((u - w) ** 2 / (2 * steps)).sum()

        assert np.isfinite(target(best))
        for size in (1e-3, 1e-1, 1.0):
            for direction in rng.normal(size=(30, 4)):
                other = best + size * direction
                other = rs.penalties.Ball.prox(penalty, other, 0.0) if hasattr(penalty, "radius") else other
                assert target(best) <= target(other) * (1 + 1e-6) + 1e-9
        np.testing.assert_allclose(penalty.prox(w, np.full(4, 0.3)), penalty.prox(w, 0.3), rtol=1e-6)


def test_every_kind_of_spread_is_covered():
    assert {case[0] for case in loss_cases()} == set(SPREADS)
