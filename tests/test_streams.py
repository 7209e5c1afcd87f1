"""Streams: the same numbers as in memory, a certificate, and errors that name the chunk."""

import numpy as np
import pytest
import scipy.sparse as sp

import robustsvm as rs
from robustsvm.columns import scan_columns
from robustsvm.survey import MemoryData, StreamData
from tests.cases import case_id, loss_cases, make_problem

LOSS = rs.losses.WorstCase(gamma=0.3)


def cut(points, y, size=700, weights=None):
    """A callable that gives chunks of `size` rows."""

    def chunks():
        for start in range(0, len(y), size):
            rows = slice(start, start + size)
            yield (points[rows], y[rows]) if weights is None else (points[rows], y[rows], weights[rows])

    return chunks


@pytest.mark.parametrize("fit_intercept", (True, False))
@pytest.mark.parametrize("kind, p, loss", loss_cases(), ids=case_id)
def test_a_survey_of_chunks_is_a_survey_of_all(kind, p, loss, fit_intercept):
    weights = np.random.default_rng(0).uniform(0.1, 3.0, 40)
    problem = make_problem(kind, loss, p, sample_weight=weights, fit_intercept=fit_intercept)
    stream = rs.Problem.from_chunks(
        cut(problem.points, problem.y, 13, weights), loss, 0.05, fit_intercept=fit_intercept
    )
    memory, chunked = MemoryData(problem), StreamData(stream)
    assert (chunked.n, chunked.d) == (40, 4)
    w, mu = np.random.default_rng(1).normal(size=4), 0.2
    one = memory.survey(w, 0.0, mu)
    other = chunked.survey(w, one.b, mu)  # at the intercept that balances the classes
    assert chunked.nu(mu) == pytest.approx(memory.nu(mu))
    for name in ("objective", "bound", "value", "bend", "peak", "slope_part"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-6, abs=1e-9), name
    np.testing.assert_allclose(other.pull_w, one.pull_w, atol=1e-7)
    np.testing.assert_allclose(other.a, one.a, atol=1e-9)
    optimum = rs.solve(problem, "exact").objective
    for b in (one.b, one.b + 1.0, -5.0):  # unbalanced classes are scaled, and the bound stays one
        survey = chunked.survey(w, b if fit_intercept else 0.0, mu)
        assert survey.bound <= optimum * (1 + 1e-12)
        same = problem.lower_bound(rs.Dual(survey.a, survey.v, witness=w, nu=survey.nu))
        assert survey.bound == pytest.approx(same, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("loss", (rs.losses.Hinge(), LOSS, rs.losses.ExpectedHinge()), ids=repr)
@pytest.mark.parametrize("sparse", (False, True))
def test_streams_are_solved_and_certified(loss, sparse):
    points, y = rs.datasets.synthetic(4000, 10)
    points = rs.UncertainPoints(sp.csr_array(points.means) if sparse else points.means, std=0.3)
    stream = rs.Problem.from_chunks(cut(points, y), loss, lam=1e-2)
    solution = rs.solve(stream, tol=5e-3, random_state=0)
    assert solution.solver == "stochastic"
    assert "stream" in solution.reason
    assert solution.gap <= 5e-3
    judge = rs.solve(rs.Problem(points, y, loss, lam=1e-2), "batch")
    assert solution.lower_bound <= judge.objective * (1 + 1e-12)
    assert judge.lower_bound <= solution.objective <= judge.objective * (1 + solution.gap + 1e-6)
    problem = rs.Problem(points, y, loss, lam=1e-2)
    assert problem.objective(solution.w, solution.b) == pytest.approx(solution.objective, rel=1e-10)


def test_columns_are_scanned_in_parts_as_in_one():
    X = np.random.default_rng(0).normal(size=(500, 3)) * [1.0, 10.0, 0.1] + [0.0, -5.0, 0.0]
    for parts in ((X[:1], X[1:]), (X[:499], X[499:]), (X[:200], X[200:])):
        whole, sum_of_parts = scan_columns(X), scan_columns(parts[0]) + scan_columns(parts[1])
        for name in ("count", "total", "squares", "largest", "means", "variances", "sizes"):
            np.testing.assert_allclose(getattr(whole, name), getattr(sum_of_parts, name), rtol=1e-12)
        np.testing.assert_array_equal(whole.largest, np.abs(X).max(axis=0))
        np.testing.assert_array_equal(scan_columns(sp.csr_array(X)).largest, whole.largest)
    np.testing.assert_allclose(whole.variances, X.var(axis=0))


def test_a_bounded_norm_and_no_intercept():
    points, y = rs.datasets.synthetic(3000, 6)
    options = {"penalty": rs.penalties.Ball(0.5), "fit_intercept": False}
    solution = rs.solve(rs.Problem.from_chunks(cut(points, y), LOSS, **options), tol=1e-2, random_state=0)
    judge = rs.solve(rs.Problem(points, y, LOSS, **options), "batch", tol=1e-4)
    assert solution.b == 0
    assert solution.gap <= 1e-2
    assert abs(solution.objective - judge.objective) <= (solution.gap + judge.gap) * solution.objective


def test_a_stream_read_once_has_no_certificate_and_says_why():
    points, y = rs.datasets.synthetic(20_000, 10)
    stream = rs.Problem.from_chunks(cut(points, y)(), LOSS, lam=1e-2)
    assert "readable once" in repr(stream)
    with pytest.warns(rs.errors.SolverWarning, match="read once.*gap is infinity.*callable"):
        solution = rs.solve(stream, random_state=0)
    assert solution.gap == np.inf
    assert solution.status == "tolerance_not_reached"
    problem = rs.Problem(points, y, LOSS, lam=1e-2)
    best = rs.solve(problem, "batch").objective
    assert problem.objective(solution.w, solution.b) <= 1.05 * best  # one epoch of steps, all the same


def bad_chunks(where, what):
    points, y = rs.datasets.synthetic(500, 4)

    def chunks():
        for number, (part, labels) in enumerate(cut(points, y, 100)(), start=1):
            yield what(part, labels) if number == where else (part, labels)

    return chunks


def with_nan(part, y):
    X = part.means.copy()
    X[3, 1] = np.nan
    return X, y


MISTAKES = {
    "NaN": (bad_chunks(3, with_nan), ValueError, "chunk 3: X contains NaN"),
    "columns": (bad_chunks(2, lambda p, y: (p.columns([0, 1]), y)), ValueError, "chunk 2 has 2 columns"),
    "spread": (
        bad_chunks(2, lambda p, y: (p.means, y)),
        ValueError,
        "chunk 2 has 4 columns, .* Certain .rank 0. spreads",
    ),
    "labels": (bad_chunks(4, lambda p, y: (p, y + 1)), ValueError, r"chunk 4: y must hold -1 and \+1"),
    "no labels": (bad_chunks(1, lambda p, y: p), TypeError, r"chunk 1 must be \(points, y\)"),
    "lengths": (bad_chunks(5, lambda p, y: (p, y[:-1])), ValueError, "chunk 5: y must have one label per sample"),
    "weights": (
        bad_chunks(2, lambda p, y: (p, y, -np.ones(100))),
        ValueError,
        "chunk 2: sample_weight must not be neg",
    ),
    "p": (bad_chunks(2, lambda p, y: (p.with_p(1), y)), ValueError, "chunk 2 has 4 columns, p = 1"),
    "empty": (lambda: iter(()), ValueError, "chunks gave no chunk at all"),
    "nothing": (lambda: None, TypeError, r"chunks\(\) must return an iterator"),
    "one class": (lambda: iter([(np.eye(3), np.ones(3))]), ValueError, "one class only"),
    "a function of something": (lambda number: iter(()), TypeError, "missing 1 required positional"),
    "a list": ([(np.eye(3), np.ones(3))], TypeError, "chunks must be a callable.*A list goes in as lambda"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_errors_name_the_chunk(mistake):
    chunks, kind, message = MISTAKES[mistake]
    with pytest.raises(kind, match=message):
        rs.solve(rs.Problem.from_chunks(chunks, LOSS, lam=1e-2), random_state=0)


def test_a_generator_that_runs_dry_is_noticed():
    points, y = rs.datasets.synthetic(500, 4)
    exhausted = cut(points, y, 100)()
    with pytest.raises(ValueError, match=r"no chunk at all on a later pass.*fresh iterator each time"):
        rs.solve(rs.Problem.from_chunks(lambda: exhausted, LOSS, lam=1e-2))


def test_a_stream_that_changes_its_length_is_noticed():
    points, y = rs.datasets.synthetic(500, 4)
    sizes = iter([500, *[400] * 50])

    def chunks():
        rows = slice(next(sizes))
        return cut(points[rows], y[rows], 100)()

    with pytest.raises(ValueError, match="gave 5 chunks at first and 4 on a later pass"):
        rs.solve(rs.Problem.from_chunks(chunks, LOSS, lam=1e-2))


@pytest.mark.parametrize("what", ("noise", "labels", "order"))
def test_a_stream_that_changes_is_noticed(what):
    points, y = rs.datasets.synthetic(500, 4)
    rng = np.random.default_rng(0)
    passes = iter(range(100))

    def chunks():
        late, X, labels = next(passes) >= 3, points.means, y
        if late:
            X = X + 0.01 * rng.normal(size=X.shape) if what == "noise" else X
            labels = -y if what == "labels" else y
        parts = list(cut(rs.UncertainPoints(X, var=points.spread.values), labels, 100)())
        return iter(parts[::-1] if late and what == "order" else parts)

    with pytest.raises(ValueError, match=r"chunk 1 is not what it was on the first pass: .* same order every time"):
        rs.solve(rs.Problem.from_chunks(chunks, LOSS, lam=1e-2), tol=1e-9, random_state=0)


def test_streams_can_be_judged():
    points, y = rs.datasets.synthetic(2000, 4)
    weights = np.random.default_rng(0).uniform(0.5, 20.0, 2000)
    stream = rs.Problem.from_chunks(cut(points, y, weights=weights), LOSS, lam=1e-2)
    problem = rs.Problem(points, y, LOSS, lam=1e-2, sample_weight=weights)
    w = np.ones(4)
    assert stream.objective(w, 0.3) == pytest.approx(problem.objective(w, 0.3), rel=1e-12)
    certificate = rs.certify(stream, w, 0.3, tol=2e-2)
    assert certificate.source == "stochastic"
    assert certificate.objective == stream.objective(w, 0.3)
    optimum = rs.solve(problem, "batch")
    assert optimum.objective * 0.98 <= certificate.lower_bound <= optimum.objective * (1 + 1e-12)
    assert rs.testing.trace(stream, [w], lower_bound=optimum.lower_bound)[0].objective == stream.objective(w)
    with pytest.raises(TypeError, match="effort be 3"):
        rs.certify(stream, w, effort=1)
    once = rs.Problem.from_chunks(cut(points, y)(), LOSS, lam=1e-2)
    with pytest.raises(TypeError, match="read once only"):
        once.objective(w)
    with pytest.raises(TypeError, match="warm_start means nothing to a stream that can be read once"):
        rs.solve(once, warm_start=w)


def test_a_stream_is_read_as_often_as_is_said():
    points, y = rs.datasets.synthetic(7000, 10)
    reads = 0

    def chunks():
        nonlocal reads
        for chunk in cut(points, y)():
            reads += 1
            yield chunk

    solution = rs.solve(rs.Problem.from_chunks(chunks, LOSS, lam=1e-2), tol=1e-2, random_state=0)
    assert reads / 10 <= solution.passes <= reads / 10 + 1


def test_an_error_of_the_users_own_comes_through():
    def chunks():
        yield rs.datasets.synthetic(100, 3)
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        rs.solve(rs.Problem.from_chunks(chunks, LOSS, lam=1e-2))


@pytest.mark.parametrize("solver", ("batch", "exact", "pegasos"))
def test_other_solvers_need_all_data(solver):
    stream = rs.Problem.from_chunks(lambda: iter(()), LOSS, lam=1e-2)
    with pytest.raises(TypeError, match=f'solver="stochastic" only, not "{solver}"'):
        rs.solve(stream, solver)
