"""Laws of a Problem: subgradients, intercepts, dual bounds, over every loss, spread, norm and penalty."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import robustsvm as rs
from robustsvm.penalties import Ball, Ridge
from tests.cases import LOSSES, case_id, loss_cases, make_problem

CASES = pytest.mark.parametrize("kind,p,loss", loss_cases(), ids=case_id)


def hyperplanes(problem, count=6, seed=3):
    rng = np.random.default_rng(seed)
    d = problem.points.shape[1]
    for scale in np.logspace(-3, 2, count):
        w = problem.penalty.prox(scale * rng.normal(size=d), 1e-12)
        yield w, float(scale * rng.normal()) if problem.fit_intercept else 0.0
    yield np.zeros(d), 0.0


def garbage_duals(problem, seed=4):
    """Dual guesses nobody promised anything about."""
    rng = np.random.default_rng(seed)
    n, spread = len(problem.y), problem.points.spread
    shape = (spread.n_atoms, spread.rank)
    for size in (0.3, 3.0):
        yield rs.Dual(size * rng.normal(size=n), size * rng.normal(size=n), size * rng.normal(size=shape))
        yield rs.Dual(rng.random(n), np.full(n, 1e9), witness=rng.normal(size=spread.n_features))
        yield rs.Dual((rng.random(n) < 0.5) * size, rng.random(n), np.full(shape, 1e300))
    yield rs.Dual(np.full(n, -1e300), np.full(n, 1e300))
    yield rs.Dual(np.ones(n), np.zeros(n))


@CASES
class TestEveryProblem:
    @pytest.mark.parametrize("penalty", [Ridge(0.05), Ball(1.5)], ids=repr)
    @pytest.mark.parametrize("intercept", [True, False], ids=["b", "no b"])
    def test_every_dual_guess_bounds_every_hyperplane(self, kind, p, loss, penalty, intercept):
        rng = np.random.default_rng(0)
        problem = make_problem(
            kind, loss, p, penalty=penalty, fit_intercept=intercept, sample_weight=rng.exponential(size=40),
            margin=rng.uniform(-0.5, 1.5, 40),
        )  # fmt: skip
        lowest = min(problem.objective(w, problem.best_intercept(w)) for w, _ in hyperplanes(problem))
        for dual in garbage_duals(problem):
            assert 0 <= problem.lower_bound(dual) <= lowest
        for w, b in hyperplanes(problem):
            assert problem.lower_bound(problem.slopes(w, b)) <= lowest

    def test_gradient_is_a_subgradient(self, kind, p, loss):
        problem = make_problem(kind, loss, p)
        everywhere = list(hyperplanes(problem))
        for w, b in everywhere:
            value, (gw, gb) = problem.objective(w, b), problem.gradient(w, b)
            for u, c in everywhere:
                below = value + gw @ (u - w) + gb * (c - b)
                assert problem.objective(u, c) >= below - 1e-12 * (1 + abs(value) + abs(below))

    def test_gradient_matches_finite_differences(self, kind, p, loss):
        problem = make_problem(kind, loss, p, seed=1)
        rng = np.random.default_rng(7)
        w, b, h = rng.normal(size=4), 0.1, 1e-6
        gw, gb = problem.gradient(w, b)
        numeric = [(problem.objective(w + h * u, b) - problem.objective(w - h * u, b)) / (2 * h) for u in np.eye(4)]
        np.testing.assert_allclose(gw, numeric, atol=1e-7)
        np.testing.assert_allclose(gb, (problem.objective(w, b + h) - problem.objective(w, b - h)) / (2 * h), atol=1e-7)

    def test_best_intercept_is_best(self, kind, p, loss):
        problem = make_problem(kind, loss, p, sample_weight=np.random.default_rng(1).exponential(size=40))
        for w, start in hyperplanes(problem):
            b = problem.best_intercept(w, start)
            other = minimize_scalar(lambda c, w=w: problem.objective(w, c), bracket=(b - 1.0, b + 1.0), tol=1e-10)
            assert problem.objective(w, b) <= other.fun * (1 + 1e-9)

    def test_worst_perturbation_attains_the_loss_and_no_sample_exceeds_it(self, kind, p, loss):
        if not isinstance(loss, rs.losses.WorstCase):
            with pytest.raises(TypeError, match="WorstCase"):
                make_problem(kind, loss, p).worst_perturbation(np.ones(4))
            return
        problem = make_problem(kind, loss, p, n=10, seed=2)
        X, A = problem.points.means, problem.points.spread.factor()
        rng = np.random.default_rng(2)
        for w, b in hyperplanes(problem):
            m, s = problem.margins_and_spreads(w, b)
            moved = X + problem.worst_perturbation(w, b)
            hinge = np.maximum(0, 1 - problem.y * (moved @ w + b))
            np.testing.assert_allclose(hinge, loss.value(m, s), rtol=1e-9, atol=1e-12)
            u = rng.normal(size=(10_000, max(1, A.shape[2])))[:, : A.shape[2]]
            norms = np.linalg.norm(u, p, axis=1, keepdims=True) if A.shape[2] else np.ones((10_000, 1))
            u *= loss.gamma * rng.random((10_000, 1)) ** 0.1 / norms
            drawn = 1 - problem.y * (X @ w + b) - problem.y * np.einsum("ndr,kr,d->kn", A, u, w)
            assert (np.maximum(0, drawn) <= loss.value(m, s) * (1 + 1e-12) + 1e-12).all()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_single_precision_gives_the_same_numbers_as_its_double(loss):
    single = make_problem("diagonal", loss, dtype=np.float32)
    points = single.points
    double = rs.Problem(
        rs.UncertainPoints(points.means.astype(float), std=points.spread.values.astype(float)), single.y, loss, 0.05
    )
    for w, b in hyperplanes(single):
        np.testing.assert_allclose(single.objective(w, b), double.objective(w, b), rtol=1e-14)
        dual = single.slopes(w, b)
        np.testing.assert_allclose(single.lower_bound(dual), double.lower_bound(dual), rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_sparse_means_give_the_same_numbers_as_dense(loss):
    for w, b in hyperplanes(make_problem("diagonal", loss)):
        values = [make_problem("diagonal", loss, sparse=sparse).objective(w, b) for sparse in (False, True)]
        np.testing.assert_allclose(*values, rtol=1e-13)


def test_a_bound_is_never_rounded_up():
    # Margins of 1e6 that cancel: without the rounding term the bound could exceed the optimum by noise.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)) + 1e6
    problem = rs.Problem(X, np.repeat([-1, 1], 15), rs.losses.Hinge(), 1e-3)
    solution = rs.solve(problem)
    assert solution.gap <= 1e-6
    exact = problem.lower_bound(solution.dual)
    assert exact <= min(solution.objective, problem.objective(solution.w, problem.best_intercept(solution.w)))


def test_weights_are_divided_by_their_mean():
    weights = np.random.default_rng(0).exponential(size=40)
    one, other = (make_problem("diagonal", LOSSES[1], sample_weight=k * weights) for k in (1.0, 1000.0))
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-12)
    np.testing.assert_allclose(one.weights.mean(), 1.0)
