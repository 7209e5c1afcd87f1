"""SVM-GSU by cuts against an independent smooth solution."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

import robustsvm as rs
from tests.cases import SPREADS, make_points


def smooth_solution(points, y, lam, intercept=True):
    """Newton's method on the closed form, written with dense covariances and scipy.stats."""
    X, C = points.means, points.covariance()

    def objective(v):
        w, b = v[:-1], v[-1] * intercept
        m = 1 - y * (X @ w + b)
        image = C @ w
        s = np.sqrt(np.maximum(image @ w, 1e-300))
        a, g = norm.cdf(m / s), norm.pdf(m / s)
        gradient = lam * w + np.mean(g[:, None] * image / s[:, None] - (a * y)[:, None] * X, axis=0)
        value = lam / 2 * w @ w + np.mean(m * a + s * g)
        return value, np.append(gradient, -np.mean(a * y) * intercept)

    start = np.append(y @ X / len(y), 0.0)
    found = minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-11, "maxiter": 5000})
    return minimize(objective, found.x, jac=True, method="L-BFGS-B", options={"ftol": 1e-16, "gtol": 1e-12}).fun


@pytest.mark.parametrize("polish", [False, True], ids=["cuts alone", "polished"])
@pytest.mark.parametrize("lam", [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0])
def test_full_covariances_close_to_1e_7_within_fifteen_rounds(lam, polish):
    points, y = make_points("full", n=200, d=10, seed=3)
    f = rs.formulations.expected_hinge(points, y, lam=lam)
    solution = f.solve(tol=1e-7, polish=polish)
    assert solution.gap <= 1e-7
    assert f.rounds <= 15
    np.testing.assert_allclose(solution.objective, smooth_solution(points, y, lam), rtol=1e-7)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", [kind for kind in SPREADS if kind not in ("certain", "radii")])
def test_every_spread(kind, intercept):
    points, y = make_points(kind, n=60, seed=1)
    f = rs.formulations.expected_hinge(points, y, lam=0.02, fit_intercept=intercept)
    solution = f.solve()
    assert solution.gap <= 1e-6
    np.testing.assert_allclose(f.w.value, solution.w, rtol=1e-12)
    np.testing.assert_allclose(f.solve(polish=False).objective, solution.objective, rtol=2e-6)
    np.testing.assert_allclose(solution.objective, smooth_solution(points, y, 0.02, intercept), rtol=2e-6)


def test_points_of_which_some_are_certain():
    points, y = make_points("radii", n=60, seed=1)
    assert (points.spread.scale == 0).any()
    assert rs.formulations.expected_hinge(points, y, lam=0.02).solve().gap <= 1e-6


def test_cuts_are_kept_when_lam_changes():
    points, y = make_points("full", n=60)
    f = rs.formulations.expected_hinge(points, y, lam=0.1)
    f.solve(polish=False)
    first = f.rounds
    f.parameters["lam"].value = 0.09
    again = f.solve(polish=False)
    assert again.gap <= 1e-6
    assert f.rounds < first
    np.testing.assert_allclose(
        again.objective, rs.formulations.expected_hinge(points, y, lam=0.09).solve().objective, rtol=2e-6
    )


def test_is_the_limit_of_training_on_draws():
    points, y = make_points("diagonal", n=30, d=2, seed=2)
    expected = rs.formulations.expected_hinge(points, y, lam=0.1).solve()
    draws = points.sample(60, random_state=0).reshape(-1, 2)
    sampled = rs.formulations.nominal(draws, np.tile(y, 60), lam=0.1).solve()
    angle = np.degrees(np.arccos(expected.w @ sampled.w / np.linalg.norm(expected.w) / np.linalg.norm(sampled.w)))
    assert angle < 2.0
    nominal = rs.formulations.nominal(points, y, lam=0.1).solve()
    # By Jensen the expectation costs more than the means; the draws agree with it to sampling error.
    assert expected.objective > nominal.objective
    np.testing.assert_allclose(sampled.objective, expected.objective, rtol=0.02)
