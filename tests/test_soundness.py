"""Steps that keep a bound true or tight, each tested by itself: a mistake in one can hide behind the others."""

import warnings
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import robustsvm as rs
from robustsvm.dual import Dual, dual_bound, repaired
from robustsvm.formulations.user_constraints import constraint_terms
from robustsvm.newton import _derivatives, _value
from tests.cases import LOSSES, make_points, make_problem


def test_kinks_certify_on_the_sphere_of_a_ball():
    points, y = make_points("diagonal")
    problem = rs.Problem(points, y, LOSSES[1], penalty=rs.penalties.Ball(0.5))
    s = rs.solve(problem, tol=1e-8)
    c = rs.certify(problem, s.w, s.b, effort=2, tol=1e-5)
    assert c.gap <= 1e-5
    assert c.source == "kinks"


def test_expected_hinge_keeps_the_users_constraints():
    points, y = make_points("diagonal")
    f = rs.formulations.expected_hinge(points, y, lam=0.05)
    free = f.solve()
    assert free.w.min() < -0.1
    bound = f.subject_to(f.w >= 0)
    s = bound.solve(tol=1e-6)
    assert s.w.min() > -1e-6
    assert s.gap <= 1e-6
    assert s.objective > free.objective


def exact_bound(problem, dual):
    """The bound of a feasible dual of the hinge + ridge in rational arithmetic."""
    F = Fraction
    n, d = problem.points.shape
    X = [[F(float(x)) for x in row] for row in problem.points.means]
    a = [F(float(x)) for x in dual.a]
    c = [F(float(x)) for x in problem.weights]
    y = [int(v) for v in problem.y]
    sum(ci * ai * yi for ci, ai, yi in zip(c, a, y, strict=False))
    gain = sum(ci * ai for ci, ai in zip(c, a, strict=False)) / n
    z = [sum(c[i] * a[i] * y[i] * X[i][j] for i in range(n)) / n for j in range(d)]
    return gain - sum(k * k for k in z) / (2 * F(problem.penalty.lam))


def test_rounding_is_taken_off():
    # Without an intercept there is nothing to balance: the repaired dual is exactly feasible.
    rng = np.random.default_rng(0)
    over = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = 30
        X = rng.normal(size=(n, 3)) + 1e4
        y = np.where(np.arange(n) % 2, 1, -1)
        problem = rs.Problem(X, y, rs.losses.Hinge(), 1e-3, fit_intercept=False)
        a = rng.random(n)
        bound, dual, _ = dual_bound(problem, Dual(a, np.zeros(n)))
        if bound > 0:
            assert Fraction(bound) <= exact_bound(problem, dual)
            over += 1
    assert over > 20


def test_rounding_of_the_gain():
    # z is exactly 0 (points in mirrored pairs), so only the sum of the gains is rounded.
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = np.repeat(rng.normal(size=(15, 2)), 2, axis=0)
        y = np.tile([-1, 1], 15)
        problem = rs.Problem(X, y, rs.losses.Hinge(), 1.0, fit_intercept=False)
        a = np.repeat(rng.random(15), 2)
        bound, dual, _z = dual_bound(problem, Dual(a, np.zeros(30)))
        assert Fraction(bound) <= exact_bound(problem, dual)


def test_passes_are_added_up():
    problem = make_problem("diagonal", LOSSES[1])
    s = rs.solve(problem)
    c = rs.certify(problem, s.w, s.b, dual=s.dual, effort=1, tol=1e-15)
    assert c.passes == 1 + 1 + 3


@pytest.mark.filterwarnings(r"ignore:\s*Explicitly invoking")  # CVXPY would rather be given inequalities
def test_the_older_kinds_of_constraints_certify():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.where(np.arange(40) % 2, 1, -1)
    X = (X + y[:, None]) * [1.0, -0.6] + 0.3
    f = rs.formulations.worst_case(rs.UncertainPoints(X, std=0.1), y, lam=0.1)
    for c in (
        cp.constraints.NonPos(f.w - 0.3),
        cp.constraints.Zero(f.w[0] + f.w[1] - 1.0),
        cp.constraints.Zero(f.w[0] + f.w[1] + 1.0),
    ):
        s = f.subject_to(c).solve()
        assert s.gap <= 1e-6
        assert s.violation <= 1e-6


def test_false_bounds_are_noticed(monkeypatch):
    problem = make_problem("diagonal", LOSSES[1])
    s = rs.solve(problem)
    real = dual_bound

    def false(problem, dual, *rest):
        value, *others = real(problem, dual, *rest)
        return (value + 1.0, *others)

    monkeypatch.setattr("robustsvm.certification.dual_bound", false)
    with pytest.raises(rs.errors.FalseBoundError):
        rs.certify(problem, s.w, s.b)
    monkeypatch.setattr("robustsvm.formulations.judge.dual_bound", false)
    with pytest.raises(rs.errors.FalseBoundError):
        rs.solve(problem)


def test_a_rough_hyperplane_is_certified_by_wider_kinks():
    problem = make_problem("diagonal", LOSSES[1])
    s = rs.solve(problem, tol=1e-9)
    w = s.w * (1 + 1e-4 * np.random.default_rng(0).normal(size=4))
    assert rs.certify(problem, w, s.b, effort=2).gap <= 1e-3


def test_repair_balances_the_weighted_classes():
    rng = np.random.default_rng(0)
    problem = make_problem("diagonal", LOSSES[1], sample_weight=rng.exponential(size=40))
    for balance in (0.0, 0.05, -0.05):
        dual = repaired(problem, Dual(rng.random(40), 0.1 * rng.random(40)), balance)
        np.testing.assert_allclose(np.mean(problem.weights * dual.a * problem.y), balance, atol=1e-14)
        assert problem.loss.in_dual_set(dual.a, dual.v).all()


@pytest.mark.parametrize("kind", ["isotropic", "diagonal", "factor", "shared_diagonal"])
@pytest.mark.parametrize("p", [1.0, np.inf])
def test_kinks_of_the_norm_are_found_without_a_solve(kind, p):
    problem = make_problem(
        kind, rs.losses.WorstCase(2.0), p, d=6, sample_weight=np.random.default_rng(0).exponential(size=40)
    )
    s = rs.solve(problem, tol=1e-9)
    assert rs.certify(problem, s.w, s.b, effort=2).gap <= 0.05


def test_negative_rounding_of_a_covariance_is_cut_off():
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    C = ((Q * [1.0, 0.5, -1e-6]) @ Q.T).astype(np.float32)
    pts = rs.UncertainPoints(np.zeros((2, 3)), cov=(C + C.T) / 2)
    assert np.linalg.eigvalsh(pts.covariance()[0])[0] < 1e-9


def test_newton_finishes_after_one_round_with_weights():
    points, y = make_points("full", n=60)
    for intercept in (True, False):
        f = rs.formulations.expected_hinge(
            points, y, lam=0.02, sample_weight=np.random.default_rng(0).exponential(size=60), fit_intercept=intercept
        )
        assert f.solve(tol=1e-9).gap <= 1e-9
        assert f.rounds == 1


def test_newton_derivatives_match_finite_differences():
    for kind in ("full", "radii", "shared_factor", "isotropic", "variance"):
        for intercept in (True, False):
            problem = make_problem(
                kind, LOSSES[2], sample_weight=np.random.default_rng(0).exponential(size=40), fit_intercept=intercept
            )
            w, b, mu, h = np.array([0.5, -0.3, 0.8, 0.1]), 0.2 * intercept, 0.1, 1e-5
            g, H = _derivatives(problem, w, b, mu)
            steps = np.eye(5)[: 4 + intercept]
            for k, u in enumerate(steps):
                up, down = (w + h * u[:4], b + h * u[4]), (w - h * u[:4], b - h * u[4])
                np.testing.assert_allclose(
                    g[k], (_value(problem, *up, mu) - _value(problem, *down, mu)) / (2 * h), atol=1e-8
                )
                np.testing.assert_allclose(
                    H[k], (_derivatives(problem, *up, mu)[0] - _derivatives(problem, *down, mu)[0]) / (2 * h), atol=1e-6
                )


def test_multipliers_of_the_wrong_sign_give_no_false_bound():
    points, y = make_points("diagonal")
    f = rs.formulations.worst_case(points, y, lam=0.05)
    c = f.w >= -5.0
    g = f.subject_to(c)
    g.solve()
    c.dual_variables[0].save_value(np.full(4, -1.0))
    terms = constraint_terms((c,), g._frame, 1.0)
    assert (terms.slope_w, terms.constant) == (pytest.approx(0.0), 0.0)


def test_no_offset_without_an_intercept():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) % 2, 1, -1)
    X = rng.normal(size=(40, 2)) + y[:, None] + 1e4
    problem = rs.Problem(rs.UncertainPoints(X, std=0.1), y, rs.losses.WorstCase(1.0), 1.0, fit_intercept=False)
    s = rs.solve(problem)
    assert s.gap <= 1e-6
    for _ in range(200):
        w = s.w + 10.0 ** rng.uniform(-8, -2) * rng.normal(size=2)
        assert problem.objective(w) >= s.lower_bound
    problem.gradient(s.w)[0]


def test_r4_gradient_far_from_the_origin():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) < 10, 1, -1)
    X = rng.normal(size=(40, 2)) + y[:, None] + 1e3
    for intercept in (True, False):
        problem = rs.Problem(
            rs.UncertainPoints(X, std=0.1), y, rs.losses.ExpectedHinge(), 1e-2, fit_intercept=intercept
        )
        w, b, h = np.array([1e-3, -5e-4]), 0.0, 1e-8
        gw, gb = problem.gradient(w, b)
        numeric = [(problem.objective(w + h * u, b) - problem.objective(w - h * u, b)) / (2 * h) for u in np.eye(2)]
        np.testing.assert_allclose(gw, numeric, rtol=1e-4)
        assert intercept or gb == 0.0


def test_a_violated_cone_is_not_given_a_bound(monkeypatch):
    points, y = make_points("diagonal")
    f = rs.formulations.worst_case(points, y, lam=0.1)
    monkeypatch.setattr("robustsvm.formulations.base.violations", lambda constraints: (0.01, 0.01))
    with pytest.warns(rs.errors.SolverWarning, match="violated by 1.0e-02"):
        rough = f.subject_to(cp.SOC(5.0 + f.w[0], f.w[1:])).solve("CLARABEL")
    assert rough.violation == 0.01
    assert rough.gap == np.inf
    assert rough.status == "tolerance_not_reached"


def test_v_is_clipped_into_the_dual_set():
    # v = 1 would cancel z and give the bound 1; the loss allows v = 0.1.
    problem = rs.Problem(rs.UncertainPoints([[-1.0], [1.0]], std=1.0), [-1, 1], rs.losses.WorstCase(0.1), 1.0)
    optimum = rs.solve(problem).objective
    for dual in (
        rs.Dual(np.ones(2), np.ones(2), witness=np.ones(1)),
        rs.Dual(np.ones(2), np.ones(2), e=np.ones((1, 1))),
    ):
        assert problem.lower_bound(dual) <= optimum * (1 + 1e-9)


def test_constraints_on_b_far_from_the_origin():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) % 2, 1, -1)
    X = rng.normal(size=(40, 2)) + y[:, None] + 1e3
    f = rs.formulations.worst_case(rs.UncertainPoints(X, std=0.1), y, lam=0.1)
    free = f.solve()
    assert f.problem.offset is not None
    for c in (f.b >= free.b + 50.0, f.b == free.b - 50.0):
        s = f.subject_to(c).solve()
        assert s.gap <= 1e-6
        assert s.objective > free.objective


def test_effort_2_solves_nothing():
    problem = make_problem("diagonal", LOSSES[1])
    assert rs.certify(problem, np.ones(4), effort=2).source in ("slopes", "kinks")


def test_a_large_covariance_may_be_asymmetric_by_rounding():
    C = 1e8 * np.array([[2.0, 1.0], [1.0, 2.0]])
    C[0, 1] *= 1 + 4e-16
    rs.UncertainPoints(np.zeros((2, 2)), cov=C)
    with pytest.raises(ValueError, match="not symmetric"):
        rs.UncertainPoints(np.zeros((2, 2)), cov=1e-20 * np.array([[2.0, 1.0], [0.5, 2.0]]))


def test_rounding_beyond_one():
    for loss in LOSSES:
        assert loss.in_dual_set(np.array([1 + 1e-13, -1e-13]), np.zeros(2)).all()


def test_least_squares_that_fail_do_not_fail_the_certificate(monkeypatch):
    def fail(*args, **kwargs):
        raise np.linalg.LinAlgError("SVD did not converge")

    problem = make_problem("diagonal", LOSSES[1])
    s = rs.solve(problem)
    monkeypatch.setattr("robustsvm.kinks.lsq_linear", fail)
    assert rs.certify(problem, s.w, s.b).gap <= 1e-6


def test_rounding_counts_the_weights():
    # Two heavy samples far out that nearly cancel: z is small, its rounding is not, and the other means hide it.
    n, L = 10_000, 1e6
    y = np.where(np.arange(n) % 2, 1, -1)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 1))
        X[:2, 0] = L * (1 + rng.random()), 0.0
        X[1] = X[0] + 2 + rng.random()
        c = np.full(n, 1e-9)
        c[:2] = 1.0, 1.0 + 1e-7 * rng.random()
        problem = rs.Problem(X, y, rs.losses.Hinge(), 1.0, sample_weight=c, fit_intercept=False)
        bound, dual, _ = dual_bound(problem, Dual(np.ones(n), np.zeros(n)))
        assert bound > 0
        assert Fraction(bound) <= exact_bound(problem, dual)


@pytest.mark.filterwarnings("ignore::robustsvm.errors.SolverWarning")  # the hardest of these stays open, and says so
@pytest.mark.parametrize("loss", LOSSES[1:], ids=repr)
@pytest.mark.parametrize("lam", [1e-8, 1e-2])
def test_covariances_in_mixed_units_are_the_same_problem_as_their_factors(loss, lam):
    # The root of the covariance itself invents variance in small units: the bound was 3.7 % too high.
    rng = np.random.default_rng(0)
    units = 10.0 ** np.array([-6, -2, 2, 6])
    y = np.where(rng.random(60) < 0.5, 1, -1)
    X = (rng.normal(size=(60, 4)) + y[:, None] * [1, 0.5, 0.5, 0.2]) * units
    A = 0.3 * rng.normal(size=(60, 4, 4)) * units[:, None]
    C = A @ A.transpose(0, 2, 1)
    by_cov = rs.solve(rs.Problem(rs.UncertainPoints(X, cov=(C + C.transpose(0, 2, 1)) / 2), y, loss, lam))
    by_factor = rs.solve(rs.Problem(rs.UncertainPoints(X, factor=A), y, loss, lam))
    assert max(by_cov.lower_bound, by_factor.lower_bound) <= min(by_cov.objective, by_factor.objective) * (1 + 1e-9)
    np.testing.assert_allclose(by_cov.objective, by_factor.objective, rtol=2e-6)


def test_the_objective_is_an_upper_bound_in_exact_arithmetic():
    # Separable data in large units: losses of 1e-16 that round to 0 are larger than the penalty.
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n, d = 40, int(rng.integers(1, 4))
        y = np.where(rng.random(n) < 0.5, 1, -1)
        y[:2] = [1, -1]
        lam = 10.0 ** rng.integers(-8, -1)
        X = (rng.normal(size=(n, d)) + 4 * y[:, None]) * 10.0 ** rng.integers(0, 7)
        solution = rs.solve(rs.Problem(X, y, rs.losses.Hinge(), lam))
        w, b = [Fraction(float(value)) for value in solution.w], Fraction(solution.b)
        decisions = [sum(Fraction(float(x)) * u for x, u in zip(row, w, strict=True)) + b for row in X]
        losses = [max(Fraction(0), 1 - int(label) * value) for label, value in zip(y, decisions, strict=True)]
        exact = Fraction(lam) / 2 * sum(u * u for u in w) + sum(losses) / n
        assert solution.gap <= 1e-6
        assert float(exact) <= solution.objective * (1 + 1e-14)


def test_sums_of_many_equal_terms_make_no_false_bound():
    # A naive sum of a million equal numbers errs in one direction.
    n = 200_000
    y = np.where(np.arange(n) < n // 4, 1, -1)
    X = sp.csr_array(np.where(y > 0, 1000.0, 1000.7)[:, None])
    problem = rs.Problem(X, y, rs.losses.Hinge(), 1.0)
    a = np.where(y > 0, 1.0, 1.0 / 3.0) * 2e-3
    bound, dual, _ = dual_bound(problem, Dual(a, np.zeros(n)))
    gains = Fraction(float(dual.a[0])) / 4 + Fraction(float(dual.a[-1])) * 3 / 4
    z = Fraction(float(dual.a[0])) / 4 * Fraction(1000.0) - Fraction(float(dual.a[-1])) * 3 / 4 * Fraction(1000.7)
    assert bound > 0
    assert Fraction(bound) <= gains - z * z / 2


@pytest.mark.parametrize("target", [5.0, -5.0])
def test_constraints_on_b_that_saturate_a_class_certify(target):
    points, y = make_points("diagonal")
    f = rs.formulations.worst_case(points, y, lam=10.0)
    solution = f.subject_to(f.b == target).solve()
    assert solution.gap <= 1e-6


def test_an_early_answer_far_from_the_origin_is_not_called_optimal():
    rng = np.random.default_rng(1)
    y = np.where(rng.random(60) < 0.5, 1, -1)
    X = rng.normal(size=(60, 4)) + 0.7 * y[:, None] * [1, -0.5, 0.3, 0.1] + 1e6
    f = rs.formulations.worst_case(rs.UncertainPoints(X, std=0.1), y, lam=0.02)
    exact = f.subject_to(f.w <= 0.1).solve()
    assert exact.gap <= 1e-6
    for steps in (20, 80, 200):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rs.errors.SolverWarning)
            early = f.subject_to(f.w <= 0.1).solve("SCS", max_iters=steps)
        if early.status == "optimal":
            np.testing.assert_allclose(early.objective, exact.objective, rtol=1e-5)
