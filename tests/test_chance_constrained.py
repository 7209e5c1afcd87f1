"""Chance constraints mean what they say."""

import numpy as np
import pytest

import robustsvm as rs
from robustsvm.formulations import kappa
from robustsvm.formulations.chance_constrained import NOISES
from tests.cases import make_points

DRAWS = 100_000


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("kind", ["full", "diagonal", "isotropic", "factor", "shared_full"])
def test_gaussian_violations_happen_as_often_as_allowed(kind, epsilon):
    points, y = make_points(kind, n=40, seed=6)
    points = points.scaled(0.4)
    solution = rs.formulations.chance_constrained(points, y, lam=0.02, epsilon=epsilon).solve()
    problem = rs.Problem(points, y, rs.losses.WorstCase(float(kappa(epsilon))), 0.02)
    m, s = problem.margins_and_spreads(solution.w, solution.b)
    slack = problem.loss.value(m, s)
    active = np.flatnonzero((solution.dual.a > 1e-4) & (s > 1e-3))
    assert len(active) >= 5
    rng = np.random.default_rng(0)
    A = points.spread.factor()
    for i in active:
        draws = points.means[i] + rng.normal(size=(DRAWS, A.shape[2])) @ A[i].T
        violated = np.mean(y[i] * (draws @ solution.w + solution.b) < 1 - slack[i])
        # 4.5 standard errors, and the solver's own distance from the constraint: 1e-6 of a standard deviation.
        assert abs(violated - epsilon) <= 4.5 * np.sqrt(epsilon * (1 - epsilon) / DRAWS) + 1e-5


def test_two_points_attain_the_bound_for_any_noise():
    for epsilon in (0.05, 0.3, 0.9):
        k = kappa(epsilon, "any")
        # Mass epsilon at k and the rest where mean 0 asks for it: mean 0, variance 1, P[u >= k] = epsilon.
        values, masses = np.array([k, -epsilon * k / (1 - epsilon)]), np.array([epsilon, 1 - epsilon])
        np.testing.assert_allclose([values @ masses, values**2 @ masses], [0, 1], atol=1e-12)
        np.testing.assert_allclose(masses[values >= k - 1e-12].sum(), epsilon)


def test_three_points_attain_the_bound_for_symmetric_noise():
    for epsilon in (0.05, 0.3, 0.49):
        k = kappa(epsilon, "symmetric")
        values, masses = np.array([-k, 0.0, k]), np.array([epsilon, 1 - 2 * epsilon, epsilon])
        np.testing.assert_allclose([values @ masses, values**2 @ masses], [0, 1], atol=1e-12)
        np.testing.assert_allclose(masses[values >= k - 1e-12].sum(), epsilon)


def test_a_uniform_with_an_atom_attains_the_bound_for_unimodal_noise():
    # Mass t spread evenly on [-c, c], the rest at 0: variance t c^2 / 3 = 1, P[u >= k] = t (c - k) / (2c) <= epsilon.
    t = np.linspace(0.01, 1, 2_000)
    c = np.sqrt(3 / t)
    for epsilon in (0.02, 0.1, 1 / 6, 0.25, 0.45):
        reach = np.max(c * (1 - 2 * epsilon / t))  # the largest k that some such law exceeds with probability epsilon
        np.testing.assert_allclose(kappa(epsilon, "unimodal"), reach, rtol=1e-3)


@pytest.mark.parametrize("noise", ["any", "symmetric"])
def test_the_worst_law_violates_the_margin_as_often_as_allowed(noise):
    points, y = make_points("full", n=40, seed=6)
    epsilon = 0.2
    k = float(kappa(epsilon, noise))
    f = rs.formulations.chance_constrained(points, y, lam=0.02, epsilon=epsilon, noise=noise)
    solution, problem = f.solve(), f.problem
    m, s = problem.margins_and_spreads(solution.w, solution.b)
    slack = problem.loss.value(m, s)
    active = (solution.dual.a > 1e-4) & (s > 1e-3)
    assert active.sum() >= 5
    toward = -y[:, None] * points.spread.displacements(solution.w, 2.0)
    far = points.means + k * toward  # reached with probability epsilon by the law of the tests above
    margin = y * (far @ solution.w + solution.b)
    np.testing.assert_allclose(margin[active], (1 - slack)[active], atol=1e-6)


def test_assuming_less_costs_more():
    points, y = make_points("full", n=40)
    cost = [
        rs.formulations.chance_constrained(points, y, lam=0.05, noise=noise).solve().objective
        for noise in ("gaussian", "unimodal", "symmetric", "any")
    ]
    assert (np.diff(cost) > 0).all()


def test_a_chance_per_sample_that_can_be_changed():
    points, y = make_points("full", n=40)
    epsilon = np.random.default_rng(0).uniform(0.05, 0.5, 40)
    f = rs.formulations.chance_constrained(points, y, lam=0.05, epsilon=epsilon)
    first = f.solve()
    by_hand = rs.formulations.worst_case(points, y, lam=0.05, gamma=kappa(epsilon)).solve()
    np.testing.assert_allclose(first.objective, by_hand.objective, rtol=2e-6)
    f.parameters["epsilon"].value = epsilon / 2
    assert f.solve().objective > first.objective


def test_kappa_is_continuous_and_decreasing():
    for noise in NOISES:
        k = kappa(np.linspace(0.01, 0.499, 500), noise)
        assert (np.diff(k) < 0).all()
    np.testing.assert_allclose(kappa(1 / 6 - 1e-12, "unimodal"), kappa(1 / 6 + 1e-12, "unimodal"), rtol=1e-9)
