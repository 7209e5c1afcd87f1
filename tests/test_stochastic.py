"""The stochastic solver: few epochs, most of them minibatch steps, whatever the scales; and the same from one seed."""

import numpy as np
import pytest

import robustsvm as rs
from robustsvm.solution import relative_gap
from robustsvm.solvers import stochastic
from robustsvm.solvers.metric import FeatureScales
from robustsvm.solvers.minibatch import Minibatch, shuffled
from robustsvm.survey import MemoryData
from tests.cases import loss_cases, make_problem

LOSSES = (rs.losses.Hinge(), rs.losses.WorstCase(gamma=0.3), rs.losses.ExpectedHinge())


def epochs(history, level, optimum=None):
    """Passes until the gap, or the distance from the optimum, is at most `level`."""
    for step in history:
        reached = step.objective / optimum - 1 if optimum else relative_gap(step.objective, step.lower_bound)
        if reached <= level:
            return step.passes
    return np.inf


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scaled", (False, True), ids=("plain", "scaled"))
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_few_epochs_and_nothing_to_tune(loss, scaled, seed):
    points, y = rs.datasets.synthetic(20_000, 30, badly_scaled=scaled)
    problem = rs.Problem(points, y, loss, lam=1e-3)
    optimum = rs.solve(problem, "batch").lower_bound
    run = rs.solve(problem, "stochastic", tol=1e-9, callback=lambda s: s.passes > 20, random_state=seed).history
    assert epochs(run, 1e-3, optimum) <= 6
    assert epochs(run, 1e-4, optimum) <= 15
    assert epochs(run, 1e-2) <= (20 if scaled else 10)
    assert scaled or epochs(run, 1e-3) <= 20


def test_at_least_half_of_the_visits_are_minibatch_steps(monkeypatch):
    visits = 0

    class Counted(Minibatch):
        def __init__(self, problem, rows):
            nonlocal visits
            visits += len(rows)
            super().__init__(problem, rows)

    monkeypatch.setattr(stochastic, "Minibatch", Counted)
    points, y = rs.datasets.synthetic(20_000, 10)
    solution = rs.solve(rs.Problem(points, y, LOSSES[1], lam=1e-3), "stochastic", tol=1e-3, random_state=0)
    assert visits / 20_000 >= 0.5 * solution.passes
    assert visits / 20_000 == round(visits / 20_000)


@pytest.mark.parametrize("radius", (0.3, 5.0))
@pytest.mark.parametrize("kind, p, loss", loss_cases()[::4], ids=str)
def test_a_bounded_norm(kind, p, loss, radius):
    problem = make_problem(kind, loss, p, n=60, penalty=rs.penalties.Ball(radius))
    optimum = rs.solve(problem, "exact")
    seen = rs.solve(problem, "stochastic", tol=2e-2, callback=lambda s: s.passes > 95, random_state=0)
    assert seen.objective <= 1.05 * optimum.objective
    assert np.linalg.norm(seen.w) <= radius * (1 + 1e-12)
    assert seen.lower_bound <= optimum.objective * (1 + 1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_more_features_than_second_derivatives_are_made_for(loss, monkeypatch):
    monkeypatch.setattr(stochastic, "MATRIX_FEATURES", 5)
    points, y = rs.datasets.synthetic(5000, 10, badly_scaled=True)
    problem = rs.Problem(points, y, loss, lam=1e-2)
    solution = rs.solve(problem, "stochastic", tol=2e-2, random_state=0)
    assert solution.gap <= 2e-2


def test_seeds():
    points, y = rs.datasets.synthetic(1000, 5)
    problem = rs.Problem(points, y, LOSSES[1], lam=1e-2)
    runs = [
        rs.solve(problem, "stochastic", tol=1e-2, random_state=seed).w
        for seed in (0, 0, np.random.default_rng(0), np.int64(0), 1)
    ]
    for other in runs[1:4]:
        np.testing.assert_array_equal(runs[0], other)
    assert (runs[0] != runs[4]).any()


def test_no_intercept_on_data_off_the_origin():
    """Centring would be an intercept in disguise."""
    points, y = rs.datasets.synthetic(2000, 5)
    moved = rs.UncertainPoints(points.means + 3.0, var=points.spread.values)
    problem = rs.Problem(moved, y, LOSSES[0], lam=1e-2, fit_intercept=False)
    solution = rs.solve(problem, "stochastic", tol=1e-2, random_state=0)
    assert solution.b == 0
    assert solution.gap <= 1e-2


@pytest.mark.parametrize("std", (1e3, 1e8))
def test_spreads_far_larger_than_the_data(std):
    points, y = rs.datasets.synthetic(2000, 5)
    problem = rs.Problem(rs.UncertainPoints(points.means, std=std), y, LOSSES[1], lam=1e-2)
    assert rs.solve(problem, "stochastic", tol=1e-2, random_state=0).gap <= 1e-2
    assert rs.solve(problem, "batch", tol=1e-6).gap <= 1e-6


def test_scales_know_of_spreads_and_of_the_intercept():
    points, y = rs.datasets.synthetic(500, 5)
    wide = rs.UncertainPoints(points.means, std=100.0)
    squares = {}
    for name, pts in {"narrow": points, "wide": wide}.items():
        problem = rs.Problem(pts, y, LOSSES[1], lam=1e-2)
        squares[name] = FeatureScales(problem.columns, problem, True, np.random.default_rng(0)).squares
    np.testing.assert_allclose(squares["wide"], squares["narrow"] + (0.3 * 100) ** 2, rtol=1e-3)
    for fit_intercept in (True, False):
        problem = rs.Problem(points, y, LOSSES[0], lam=1e-2, fit_intercept=fit_intercept)
        assert MemoryData(problem).centred == fit_intercept


def test_constant_columns(monkeypatch):
    monkeypatch.setattr(stochastic, "MATRIX_FEATURES", 1)
    X = np.full((40, 3), 1e4)
    problem = rs.Problem(X, np.where(np.arange(40) % 2, 1, -1), LOSSES[0], lam=1.0)
    assert rs.solve(problem, "stochastic", tol=2e-2, random_state=0).gap <= 2e-2


def test_an_epoch_visits_each_sample_once():
    rows = list(shuffled(103, 10, np.random.default_rng(0)))
    assert [len(part) for part in rows] == [10] * 10 + [3]
    np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(103))


@pytest.mark.parametrize("kind, p, loss", loss_cases(), ids=str)
def test_minibatch_gradients_add_up_to_the_full_one(kind, p, loss):
    problem = make_problem(kind, loss, p, sample_weight=np.random.default_rng(0).uniform(0.1, 2.0, 40))
    w, b = np.random.default_rng(1).normal(size=4), 0.2
    total, slope = np.zeros(4), 0.0
    for rows in shuffled(40, 7, np.random.default_rng(2)):
        batch = Minibatch(problem, rows)
        pull, pull_b = batch.pull(*batch.slopes(w, b, 0.0, 0.0), w, 0.0)
        total, slope = total + len(rows) / 40 * pull, slope + len(rows) / 40 * pull_b
    gradient, slope_b = problem.gradient(w, b)
    np.testing.assert_allclose(total, problem.penalty.gradient(w) - gradient, atol=1e-12)
    assert slope == pytest.approx(-slope_b)
