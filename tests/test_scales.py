"""lam from 1e-8 to 1e4, features from 1e-6 to 1e6, spreads from nothing to 1e8: gap 1e-6 in the user's units."""

import numpy as np
import pytest

import robustsvm as rs
from tests.cases import LOSSES

LAMS = (1e-8, 1e-5, 1e-2, 1.0, 1e4)


def scaled_problem(loss, lam, decades, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    units = 10.0 ** np.linspace(-decades, decades, 8)
    X = rng.normal(size=(120, 8))
    y = np.where(X @ rng.normal(size=8) + 0.7 * rng.normal(size=120) > 0, 1, -1)
    std = spread * 10.0 ** rng.uniform(-1.5, -0.3, (120, 8))
    return rs.Problem(rs.UncertainPoints(X * units, std=std * units), y, loss, lam)


@pytest.mark.parametrize("lam", LAMS)
@pytest.mark.parametrize("decades", [0, 3, 6])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_every_lam_and_scale_is_certified(loss, decades, lam):
    problem = scaled_problem(loss, lam, decades)
    solution = rs.solve(problem)
    assert solution.gap <= 1e-6
    # In the user's units: the reported numbers are those of the problem as it was posed.
    assert solution.objective == problem.objective(solution.w, solution.b)
    assert solution.lower_bound <= problem.objective(solution.w * 0.99, solution.b)


@pytest.mark.parametrize("spread", [1e-8, 1e-4, 1e4, 1e8])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_spreads_from_nothing_to_everything(loss, spread):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert rs.solve(scaled_problem(loss, 1e-2, 0, spread=spread)).gap <= 1e-6


@pytest.mark.parametrize("p", [1.0, 1.5, 3.0, np.inf])
@pytest.mark.parametrize("lam", [1e-6, 1e2])
def test_every_norm_on_bad_scales(p, lam):
    problem = scaled_problem(LOSSES[1], lam, 3)
    problem = rs.Problem(problem.points.with_p(p), problem.y, LOSSES[1], lam)
    assert rs.solve(problem).gap <= 1e-6


@pytest.mark.parametrize("offset", [1e3, 1e6])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_data_far_from_the_origin(loss, offset):
    problem = scaled_problem(loss, 1e-2, 0)
    points = problem.points
    moved = rs.UncertainPoints(points.means + offset, std=points.spread.values)
    solution = rs.solve(rs.Problem(moved, problem.y, loss, 1e-2))
    assert solution.gap <= 1e-6
    np.testing.assert_allclose(solution.objective, rs.solve(problem).objective, rtol=3e-6)


@pytest.mark.parametrize("lam", [1e-8, 1e-4])
def test_separable_data_where_the_objective_is_tiny(lam):
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 40)
    points = rs.UncertainPoints(rng.normal(size=(80, 3)) + 4 * y[:, None], std=0.1)
    for loss in LOSSES:
        solution = rs.solve(rs.Problem(points, y, loss, lam))
        assert solution.objective < 10 * lam
        assert solution.gap <= 1e-6


def test_constant_and_empty_columns_are_harmless():
    problem = scaled_problem(LOSSES[1], 1e-2, 0)
    X = np.column_stack([problem.points.means, np.zeros(120), np.full(120, 7.0)])
    std = np.column_stack([problem.points.spread.values, np.zeros((120, 2))])
    wider = rs.solve(rs.Problem(rs.UncertainPoints(X, std=std), problem.y, LOSSES[1], 1e-2))
    np.testing.assert_allclose(wider.objective, rs.solve(problem).objective, rtol=2e-6)
    np.testing.assert_allclose(wider.w[-2:], 0, atol=1e-6)


def test_two_points_and_one_feature():
    problem = rs.Problem(rs.UncertainPoints([[0.0], [1.0]], std=0.1), [-1, 1], LOSSES[1], 1e-2)
    assert rs.solve(problem).gap <= 1e-6
