"""Problems that once broke a bound, left a gap open, or took the memory of the machine."""

import tracemalloc

import cvxpy as cp
import numpy as np
import pytest

import robustsvm as rs
from tests.cases import LOSSES, make_points, make_problem, sparse_means

ROBUST = LOSSES[1:]


def two_classes(n=100, d=3, seed=0, shift=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1, -1)
    return rng.normal(size=(n, d)) + shift * y[:, None], y, rng


@pytest.mark.parametrize("loss", ROBUST, ids=repr)
@pytest.mark.parametrize("size", [1.0, 100.0, 1e4])
@pytest.mark.parametrize("seed", range(4))
def test_singular_covariance_equals_its_factor(seed, size, loss):
    # w* lies in the null space of the covariance: its root and its quadratic form differ there by sqrt(eps).
    X, y, rng = two_classes(40, seed=seed)
    u = size * rng.normal(size=(3, 1))
    covariance = rs.solve(rs.Problem(rs.UncertainPoints(X, cov=u @ u.T), y, loss, 1e-2))
    factor = rs.solve(rs.Problem(rs.UncertainPoints(X, factor=u[None]), y, loss, 1e-2))
    assert max(covariance.gap, factor.gap) <= 1e-6
    # A covariance in double precision determines its root to 1e-8 of its size.
    assert abs(covariance.objective - factor.objective) <= 2e-6 * factor.objective + 1e-7 * size


@pytest.mark.parametrize("gamma", [1.0, 30.0])
def test_single_precision_covariance_of_low_rank(gamma):
    X, y, rng = two_classes(40, 10, seed=3)
    F = rng.normal(size=(10, 2))
    C = (F @ F.T).astype(np.float32)
    problem = rs.Problem(
        rs.UncertainPoints(X.astype(np.float32), cov=(C + C.T) / 2), y, rs.losses.WorstCase(gamma), 1e-2
    )
    solution = rs.solve(problem)
    assert solution.gap <= 1e-6
    for _ in range(100):
        w, b = solution.w + 1e-3 * rng.normal(size=10), solution.b + 1e-3 * rng.normal()
        assert problem.objective(w, b) >= solution.lower_bound


def test_a_tiny_witness_gives_no_longer_direction():
    problem = rs.Problem(rs.UncertainPoints([[-1.0], [1.0]], cov=[[1.0]]), [-1, 1], rs.losses.WorstCase(0.5), 1.0)
    optimum = rs.solve(problem).objective
    for size in (2.305289387051645e-162, 1e-200, 1e-310, 1e150):
        dual = rs.Dual(np.ones(2), np.full(2, 0.5), witness=np.array([size]))
        assert problem.lower_bound(dual) <= optimum * (1 + 1e-12)


@pytest.mark.parametrize("excess", [1e-14, 1e-12, 1e-8, 1e-3])
def test_norms_next_to_one(excess):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(20) % 2, 1, -1)
    X = np.outer(y, np.ones(3)) + 0.1 * rng.normal(size=(20, 1))
    problem = rs.Problem(rs.UncertainPoints(X, std=np.ones((1, 3)), p=1 + excess), y, rs.losses.WorstCase(1.0), 10.0)
    lowest = rs.solve(problem, tol=1e-4).objective
    for _ in range(50):
        w = np.full(3, 0.05) * (1 + rng.integers(-3, 4, 3) * 2.3e-16)
        assert problem.lower_bound(rs.Dual(np.ones(20), np.ones(20), witness=w)) <= lowest * (1 + 1e-9)


@pytest.mark.parametrize("lam", [1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("n", [200, 2000])
def test_separable_data_and_small_lam(n, lam):
    X, y, _ = two_classes(n, seed=1, shift=3.0)
    problem = rs.Problem(rs.UncertainPoints(X, std=0.05), y, rs.losses.WorstCase(1.0), lam)
    assert rs.solve(problem).gap <= 1e-6


@pytest.mark.parametrize("k", [1e-6, 1e-5, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_change_of_units_changes_nothing(loss, k):
    X, y, _ = two_classes()
    plain = rs.solve(rs.Problem(rs.UncertainPoints(X, std=0.1), y, loss, 1e-2))
    scaled = rs.solve(rs.Problem(rs.UncertainPoints(X * k, std=0.1 * k), y, loss, 1e-2 * k**2))
    assert scaled.gap <= 1e-6
    assert scaled.cvxpy_solver == "CLARABEL"
    np.testing.assert_allclose(scaled.objective, plain.objective, rtol=2e-6)
    np.testing.assert_allclose(scaled.w * k, plain.w, atol=1e-3)


@pytest.mark.parametrize("p", [1.5, np.inf])
@pytest.mark.parametrize("k", [1e-6, 1e6])
def test_a_change_of_units_changes_nothing_for_other_norms(p, k):
    X, y, _ = two_classes()
    problem = rs.Problem(rs.UncertainPoints(X * k, std=0.1 * k, p=p), y, rs.losses.WorstCase(1.0), 1e-2 * k**2)
    assert rs.solve(problem).gap <= 1e-6


@pytest.mark.parametrize("k", [1.0, 1e3, 1e5])
def test_four_separable_points_in_any_units(k):
    X, y = np.array([[-2.0, 0], [-1, 1], [1, 0], [2, -1]]) * k, [-1, -1, 1, 1]
    for loss in LOSSES:
        assert rs.solve(rs.Problem(rs.UncertainPoints(X, std=0.1 * k), y, loss, 0.1)).gap <= 1e-6


@pytest.mark.parametrize("size", [1e3, 1e6, 1e8])
def test_spread_that_plays_no_part_does_not_spoil_the_units(size):
    X, y, rng = two_classes()
    points = rs.UncertainPoints(X, std=size * rng.random((100, 3)))
    nominal = rs.formulations.nominal(points, y, lam=1e-2).solve()
    still = rs.formulations.worst_case(points, y, lam=1e-2, gamma=0.0).solve()
    assert max(nominal.gap, still.gap) <= 1e-6
    np.testing.assert_allclose(still.objective, nominal.objective, rtol=2e-6)


@pytest.mark.parametrize("size", [1.0, 1e2, 1e4, 1e6])
@pytest.mark.parametrize("loss", ROBUST, ids=repr)
def test_a_few_points_far_more_uncertain_than_the_rest_are_certain(loss, size):
    X, y, rng = two_classes()
    std = size * rng.random(100) * (np.arange(100) % 4 == 0)
    assert rs.solve(rs.Problem(rs.UncertainPoints(X, std=std), y, loss, 1e-2)).gap <= 1e-6


def test_only_a_weightless_sample_on_the_kink():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0], [0.0]])
    y, std, weight = np.array([-1, -1, 1, 1, 1]), [0.5, 0.5, 0.5, 0.5, 0.0], [1, 1, 1, 1, 0]

    def problem():
        return rs.Problem(rs.UncertainPoints(X, std=std), y, rs.losses.ExpectedHinge(), 0.1, sample_weight=weight)

    b = problem().best_intercept([0.7])
    X[4] = (1 - b) / 0.7
    assert rs.certify(problem(), [0.7], b, effort=2).lower_bound <= rs.solve(problem()).objective


def constrained_reference(problem, constrain):
    """The constrained optimum by a program of its own."""
    w, b, xi = cp.Variable(2), cp.Variable(), cp.Variable(len(problem.y), nonneg=True)
    seen = 0.1 * cp.norm(w, 2)
    rows = [xi >= 1 - cp.multiply(problem.y, problem.points.means @ w + b) + seen, *constrain(w, b)]
    program = cp.Problem(cp.Minimize(problem.penalty.lam / 2 * cp.sum_squares(w) + cp.sum(xi) / len(problem.y)), rows)
    program.solve(solver="CLARABEL")
    return program.value


CONSTRAINTS = {
    "w >= 0": (lambda w, b: [w >= 0], True),
    "0 <= w <= 0.3": (lambda w, b: [w >= 0, w <= 0.3], True),
    "w equal": (lambda w, b: [w[0] == w[1]], True),
    "NonNeg": (lambda w, b: [cp.constraints.NonNeg(w)], True),
    "b >= 0.2": (lambda w, b: [b >= 0.2], True),
    "b == 0.5": (lambda w, b: [b == 0.5], True),
    "w and b": (lambda w, b: [w[0] + b >= 0.9, w[1] >= -0.1], True),
    "norm": (lambda w, b: [cp.norm(w, 2) <= 0.3], True),
    "sum of squares": (lambda w, b: [cp.sum_squares(w) <= 0.1], True),
    "abs": (lambda w, b: [cp.abs(w) <= 0.3], True),
    "kink of the 1-norm": (lambda w, b: [cp.norm1(w) <= 0.3], None),
    "kink of the largest": (lambda w, b: [cp.norm(w, "inf") <= 0.2], None),
    "slack": (lambda w, b: [cp.norm(w, 2) <= 100.0], True),
    "PSD": (lambda w, b: [cp.bmat([[0.3, w[0]], [w[0], 0.3]]) >> 0], False),
    "SOC": (lambda w, b: [cp.SOC(0.3 + 0 * w[0], w)], False),
}


@pytest.mark.filterwarnings("ignore::robustsvm.errors.SolverWarning")  # cones have no part in the bound, and it says so
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints_of_the_user_and_their_certificate(name):
    constrain, closes = CONSTRAINTS[name]
    X, y, _ = two_classes(40, 2)
    X = X * [1.0, -0.6] + 0.3
    f = rs.formulations.worst_case(rs.UncertainPoints(X, std=0.1), y, lam=0.1)
    bound = f.subject_to(*constrain(f.w, f.b))
    reference = constrained_reference(f.problem, constrain)
    solution = bound.solve()
    assert bound.problem is None
    assert solution.violation <= 1e-6
    np.testing.assert_allclose(solution.objective, reference, rtol=1e-6)
    assert solution.lower_bound <= reference * (1 + 1e-8)
    assert solution.lower_bound >= f.solve().lower_bound - 1e-6
    assert closes is None or (solution.status == "optimal") == closes
    # Stopped halfway, the bound must still be a bound and an answer that breaks its constraints not optimal.
    for steps in (3, 7, 12):
        try:
            early = bound.solve("CLARABEL", max_iter=steps)
        except rs.errors.SolverFailedError:
            continue
        assert early.lower_bound <= reference * (1 + 1e-8)


def test_an_answer_that_breaks_its_constraints_is_not_called_optimal():
    X, y, _ = two_classes(40, 2)
    f = rs.formulations.worst_case(rs.UncertainPoints(X, std=0.1), y, lam=0.1)
    with pytest.warns(rs.errors.SolverWarning, match="violated"):
        rough = f.subject_to(f.w >= 3).solve("SCS", max_iters=50, eps_abs=0.1, eps_rel=0.1)
    assert rough.violation > 1e-3
    assert rough.status == "tolerance_not_reached"
    assert rough.gap == np.inf


def test_a_variable_of_the_users_own():
    points, y = make_points("diagonal")
    f = rs.formulations.worst_case(points, y, lam=0.05)
    largest = cp.Variable()
    bound = f.subject_to(f.w <= largest, -f.w <= largest, largest <= 100.0)
    solution = bound.solve()
    np.testing.assert_allclose(solution.objective, f.solve().objective, rtol=2e-6)
    assert solution.gap <= 1e-6  # by the bound of the problem without them, which these do not change


def test_an_impossible_constraint_is_named_as_such():
    points, y = make_points("diagonal")
    f = rs.formulations.worst_case(points, y, lam=0.05)
    with pytest.raises(rs.errors.SolverFailedError, match="no hyperplane meets the constraints"):
        f.subject_to(f.w >= 1, f.w <= 0).solve()


def peak_megabytes(action):
    tracemalloc.start()
    action()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


@pytest.mark.parametrize("std", [0.1, np.full((1, 1000), 0.1)], ids=["isotropic", "per feature"])
def test_a_certificate_in_many_dimensions_expands_nothing(std):
    X = sparse_means(300, 1000, 0.01)
    y = np.where(np.arange(300) % 2, 1, -1)
    problem = rs.Problem(rs.UncertainPoints(X, std=std), y, rs.losses.WorstCase(1.0), 0.1)
    assert peak_megabytes(lambda: rs.certify(problem, np.zeros(1000), effort=2)) < 100  # (n, d, d) would be 2400


def test_draws_from_shared_covariances_expand_nothing():
    points = rs.UncertainPoints(np.zeros((2000, 100)), cov=np.eye(100))
    assert peak_megabytes(lambda: points.sample(1, random_state=0)) < 20  # (n, d, d) would be 160


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_data_far_away_lose_no_digits(seed, loss):
    X, y, _ = two_classes(60, seed=seed)
    plain = rs.solve(rs.Problem(rs.UncertainPoints(X, std=0.1), y, loss, 1e-2))
    for offset in (1e6, 1.7e9):  # seconds since 1970, for instance
        far = X + np.array([offset, 0, 0])
        problem = rs.Problem(rs.UncertainPoints(far, std=0.1), y, loss, 1e-2)
        solution = rs.solve(problem, tol=1e-5)
        np.testing.assert_allclose(solution.objective, plain.objective, rtol=1e-5)
        assert rs.certify(problem, solution, tol=1e-5).gap <= 1e-5


@pytest.mark.filterwarnings("ignore::robustsvm.errors.SolverWarning")  # b has no digits left for a gap of 1e-6
@pytest.mark.parametrize("seed", range(4))
def test_data_absurdly_far_away_make_no_false_bound(seed):
    X, y, _ = two_classes(60, seed=seed)
    lowest = rs.solve(rs.Problem(X, y, rs.losses.Hinge(), 1e-2)).objective
    solution = rs.solve(rs.Problem(X + np.array([1.7e12, 0, 0]), y, rs.losses.Hinge(), 1e-2))
    assert solution.lower_bound <= lowest * (1 + 2e-3)  # the means themselves are rounded to 2e-4


@pytest.mark.parametrize("k", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_change_of_units_changes_nothing_in_a_ball(loss, k):
    X, y, _ = two_classes()
    plain, scaled = (
        rs.solve(rs.Problem(rs.UncertainPoints(X * u, std=0.1 * u), y, loss, penalty=rs.penalties.Ball(0.7 / u)))
        for u in (1.0, k)
    )
    assert max(plain.gap, scaled.gap) <= 1e-6
    np.testing.assert_allclose(scaled.objective, plain.objective, rtol=2e-6)


def test_a_ball_and_certain_points_under_the_expected_hinge():
    problem = make_problem("radii", rs.losses.ExpectedHinge(), penalty=rs.penalties.Ball(0.8))
    assert rs.solve(problem).gap <= 1e-6


def test_power_cones_seldom_stall():
    # With Clarabel's usual step fraction four of these hundred stall.
    stalled = []
    for kind in ("diagonal", "isotropic", "factor", "radii", "shared_diagonal"):
        for p in (1.1, 1.5, 3.0, 6.0):
            for seed in range(5):
                solution = rs.solve(make_problem(kind, LOSSES[1], p, seed=seed, lam=[0.05, 1e-3][seed % 2]))
                assert solution.gap <= 1e-6
                if len(solution.attempts) > 1 or "rescaled" in solution.attempts[0]:
                    stalled.append((kind, p, seed))
    assert len(stalled) <= 2
