"""No false bound, and no empty one."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

import robustsvm as rs
from robustsvm.errors import FalseBoundError
from robustsvm.solution import honest_bound, relative_gap
from tests.cases import COVARIANCES, LOSSES, NORMS, SPREADS, case_id, loss_cases, make_problem, spread_arguments

N_PROBLEMS, N_HYPERPLANES = 128, 16  # 2048 pairs


def random_problem(seed):
    """Well and badly scaled, float32 and float64, with and without intercept and weights, every kind of spread."""
    rng = np.random.default_rng([99, seed])
    n, d = int(rng.integers(8, 40)), int(rng.integers(1, 6))
    kind = SPREADS[seed % len(SPREADS)]
    loss = LOSSES[seed % 3] if rng.random() < 0.7 else rs.losses.WorstCase(gamma=10.0 ** rng.uniform(-2, 2))
    p = 2.0 if kind in COVARIANCES or isinstance(loss, rs.losses.ExpectedHinge) else NORMS[int(rng.integers(5))]
    dtype = np.float32 if seed % 4 == 3 else np.float64
    units = 10.0 ** rng.uniform(-3, 3, d) if seed % 2 else np.ones(d)
    X, y = rng.normal(size=(n, d)), np.where(rng.random(n) < 0.5, 1, -1)
    y[:2] = [-1, 1]
    X = (X + 0.7 * np.outer(y, rng.normal(size=d))) * units
    arguments = {}
    for name, value in spread_arguments(kind, n, d, rng).items():
        value = np.asarray(value)
        if name == "cov":
            value = value * np.outer(units, units)
        elif name == "factor":
            value = value * units[:, None]
        elif value.ndim == 2:
            value = value * (units if name == "std" else units**2)
        elif name != "group":
            value = value * units.mean()
        arguments[name] = value if name == "group" else value.astype(dtype)
    points = rs.UncertainPoints(X.astype(dtype), p=p, **arguments)
    weights = rng.exponential(size=n) if rng.random() < 0.5 else None
    lam = 10.0 ** rng.uniform(-5, 1)
    return rs.Problem(points, y, loss, lam, sample_weight=weights, fit_intercept=bool(rng.random() < 0.7)), units


def random_hyperplanes(problem, optimum, units, seed):
    """Near and far: the optimum moved by every size, and hyperplanes that know nothing of it."""
    rng = np.random.default_rng([98, seed])
    d, b = problem.points.shape[1], float(problem.fit_intercept)
    for size in np.logspace(-9, 0, N_HYPERPLANES - 6):
        w = optimum.w * (1 + size * rng.normal(size=d))
        yield w, b * (optimum.b + size * rng.normal())
    for size in np.logspace(-2, 3, 5):
        yield size * rng.normal(size=d) / units, b * size * rng.normal()
    yield np.zeros(d), 0.0


def best_known(problem):
    """The lowest objective any solver found."""
    able = ("CLARABEL", "ECOS") if problem.points.q in (1, 2, np.inf) else ("CLARABEL",)
    solutions = [rs.solve(problem, tol=1e-9 if name == "CLARABEL" else 1e-6, cvxpy_solver=name) for name in able]
    return min(solutions, key=lambda solution: solution.objective)


@pytest.mark.filterwarnings("ignore::robustsvm.errors.SolverWarning")  # the second solver's gap is not the point here
@pytest.mark.parametrize("batch", range(8))
def test_no_bound_exceeds_the_lowest_objective_found_and_none_is_empty(batch):
    fractions, pairs = [], 0
    for seed in range(batch, N_PROBLEMS, 8):
        problem, units = random_problem(seed)
        optimum = best_known(problem)
        lowest, slack = optimum.objective, 1e-5 if problem.points.dtype == np.float32 else 1e-9
        certificates = [rs.certify(problem, w, b) for w, b in random_hyperplanes(problem, optimum, units, seed)]
        lowest = min(lowest, *(certificate.objective for certificate in certificates))
        for certificate in certificates:
            assert certificate.lower_bound <= lowest * (1 + slack), (seed, certificate)
            assert certificate.gap >= 0
            fractions.append(certificate.lower_bound / lowest)
            pairs += 1
    assert pairs == N_PROBLEMS * N_HYPERPLANES // 8
    assert np.median(fractions) >= 0.5


@pytest.mark.parametrize("kind,p,loss", loss_cases(), ids=case_id)
def test_a_bare_optimum_is_recognised_and_a_near_miss_is_not_overrated(kind, p, loss):
    problem = make_problem(kind, loss, p)
    solution = rs.solve(problem, tol=1e-8)
    assert solution.gap <= 1e-8
    assert rs.certify(problem, solution.w, solution.b).gap <= 1e-5
    rng = np.random.default_rng(1)
    w = solution.w + 1e-3 * max(np.linalg.norm(solution.w), 1.0) * rng.normal(size=4) / 2
    certificate = rs.certify(problem, w, solution.b, tol=1e-9)
    suboptimality = relative_gap(certificate.objective, solution.objective)
    assert suboptimality > 1e-9
    assert certificate.gap <= 1.5 * suboptimality + 1e-8


def test_the_dual_of_a_solution_certifies_in_one_pass():
    problem = make_problem("full", LOSSES[1])
    solution = rs.solve(problem)
    certificate = rs.certify(problem, solution.w, solution.b, dual=solution.dual, effort=0)
    assert certificate.source == "dual"
    assert certificate.gap <= 1e-6
    np.testing.assert_allclose(certificate.lower_bound, solution.lower_bound, rtol=1e-9)


def test_the_ladder_names_its_rung():
    smooth = make_problem("full", LOSSES[2])
    solution = rs.solve(smooth, tol=1e-9)
    # Slopes amplify a distance delta to L/lam delta, so a smooth optimum of 1e-9 is good for 1e-4.
    assert rs.certify(smooth, solution.w, solution.b, tol=1e-4, effort=1).source == "slopes"
    kinked = make_problem("diagonal", LOSSES[1])
    solution = rs.solve(kinked, tol=1e-8)
    assert rs.certify(kinked, solution.w, solution.b, effort=2).source == "kinks"
    assert rs.certify(kinked, solution.w + 0.1, solution.b).source == "exact"
    nothing = rs.certify(kinked, solution.w, solution.b, effort=0)
    assert (nothing.source, nothing.gap, nothing.dual) == ("none", np.inf, None)


def test_a_hyperplane_from_scikit_learn():
    from sklearn.svm import SVC

    problem = make_problem("certain", rs.losses.Hinge(), n=60)
    model = SVC(kernel="linear", C=1 / (60 * 0.05), tol=1e-8).fit(problem.points.means, problem.y)
    assert rs.certify(problem, model.coef_, model.intercept_).gap <= 1e-6
    assert rs.certify(problem, model).gap <= 1e-6
    solution = rs.solve(problem)
    assert rs.certify(problem, solution).objective == solution.objective


def test_a_dual_that_proves_itself_ends_the_climb():
    problem = make_problem("diagonal", LOSSES[1])
    solution = rs.solve(problem, tol=1e-9)
    far = rs.certify(problem, 1.1 * solution.w, solution.b, dual=solution.dual)
    assert far.source == "dual"
    assert far.passes <= 3
    np.testing.assert_allclose(far.lower_bound, solution.lower_bound, rtol=1e-9)


def test_an_optimal_status_that_lies_is_exposed():
    # CVXPY 1.9 with HIGHS, SCIPY or PIQP can return w = 0 for cp.pos and call it optimal (0 times infinity in its
    # bounds). Whatever a version answers, our objective and bound tell a right answer from a wrong one.
    problem = make_problem("certain", rs.losses.Hinge(), n=60)
    X, y = problem.points.means, problem.y
    optimum = rs.solve(problem).objective
    w, b = cp.Variable(4), cp.Variable()
    risk = cp.sum(cp.pos(1 - cp.multiply(y, X @ w + b))) / 60
    program = cp.Problem(cp.Minimize(0.025 * cp.sum_squares(w) + risk))
    for solver in set(cp.installed_solvers()) & {"HIGHS", "PIQP", "OSQP"}:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the 0 times infinity itself
            try:
                program.solve(solver=solver)
            except ValueError as error:  # some versions notice that their own answer leaves its bounds
                assert "must be in bounds" in str(error)
                continue
        certificate = rs.certify(problem, w.value, b.value)
        truly_wrong = certificate.objective > 1.001 * optimum
        assert (certificate.gap > 5e-4) == truly_wrong
    lie = rs.certify(problem, np.zeros(4), 1.0)
    assert lie.gap > 0.2


def test_our_own_formulation_is_right_with_every_solver_installed():
    problem = make_problem("certain", rs.losses.Hinge(), n=60)
    lowest = rs.solve(problem).objective
    tried = 0
    for solver in set(cp.installed_solvers()) & {"HIGHS", "PIQP", "OSQP", "QOCO", "ECOS", "SCS", "CLARABEL"}:
        solution = rs.solve(problem, cvxpy_solver=solver, tol=1e-3)
        assert solution.cvxpy_solver == solver
        assert solution.gap <= 1e-3
        assert solution.lower_bound <= lowest * (1 + 1e-9)
        tried += 1
    assert tried >= 3


def test_a_false_bound_would_be_an_error_and_not_a_small_gap():
    assert honest_bound(1.0, 1.0 + 1e-12) == 1.0
    with pytest.raises(FalseBoundError, match="report"):
        honest_bound(1.0, 1.0 + 1e-6)


def test_relative_gap():
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(1.0, -np.inf) == np.inf
    assert relative_gap(np.inf, 1.0) == np.inf
    assert relative_gap(2.0, 1.0) == 0.5
    assert relative_gap(0.0, -2.0) == 1.0
