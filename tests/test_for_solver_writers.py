"""robustsvm.testing, datasets and uncertainty: what people build solvers and experiments on."""

import itertools

import numpy as np
import pytest
from sklearn.svm import LinearSVC

import robustsvm as rs


@pytest.mark.parametrize("reference", rs.testing.reference_problems(), ids=lambda reference: reference.name)
def test_reference_problems_have_certified_optima(reference):
    assert reference.solution.gap <= 1e-6
    again = {other.name: other for other in rs.testing.reference_problems()}[reference.name]
    np.testing.assert_array_equal(again.problem.points.means, reference.problem.points.means)
    stochastic = rs.solve(reference.problem, "stochastic", tol=0.05, random_state=0)
    assert stochastic.lower_bound <= reference.solution.objective * (1 + 1e-12)
    assert rs.testing.assert_certified(reference.problem, reference.solution, gap=1e-5).gap <= 1e-5


def test_names_are_distinct():
    names = [reference.name for reference in rs.testing.reference_problems()]
    assert len(set(names)) == len(names)


def test_assert_certified_takes_models_and_refuses_bad_ones():
    problem = rs.testing.reference_problems()[0].problem
    X, y = problem.points.means, problem.y
    model = LinearSVC(loss="hinge", C=1 / (1e-2 * len(y)), tol=1e-6, max_iter=100_000).fit(X, y)
    rs.testing.assert_certified(problem, model, gap=0.05)  # it penalises the intercept: close, not equal
    with pytest.raises(AssertionError, match=r"a gap of .*, more than 1e-06"):
        rs.testing.assert_certified(problem, 2.0 * model.coef_, model.intercept_, gap=1e-6)


def test_trace_holds_all_iterates_against_one_bound():
    reference = rs.testing.reference_problems()[2]
    problem, solution = reference.problem, reference.solution
    seen = []
    rs.solve(problem, "batch", callback=lambda s: seen.append((s.w, s.b)))
    points = rs.testing.trace(problem, [np.zeros(10), *seen, solution])
    gaps = [point.gap for point in points]
    assert gaps[0] > 0.5
    assert gaps[-1] <= 1e-6
    assert all(a >= b - 1e-6 for a, b in itertools.pairwise(gaps[:-1]))  # callbacks see the best so far
    bound = rs.testing.trace(problem, [solution], lower_bound=solution.lower_bound)
    assert bound[0].gap == solution.gap


def test_synthetic_data_are_what_they_say():
    points, y = rs.datasets.synthetic(20_000, 10, random_state=3)
    variances = points.spread.values
    assert 1e-3 <= variances.min() <= 1.2e-3
    assert 0.9 <= variances.max() <= 1.0
    assert abs(np.log10(variances).mean() + 1.5) < 0.02
    assert abs(points.means.std() - 1) < 0.01
    scaled, same = rs.datasets.synthetic(20_000, 10, badly_scaled=True, random_state=3)
    ratio = scaled.means.std(axis=0) / 1.0
    assert ratio.max() / ratio.min() > 10
    np.testing.assert_allclose(
        np.log(scaled.spread.values).mean(axis=0) - 2 * np.log(ratio), np.log(variances).mean(), atol=0.1
    )
    rotated, _ = rs.datasets.synthetic(5000, 10, badly_scaled=True, rotated=True, random_state=3)
    correlations = np.corrcoef(rotated.means.T) - np.eye(10)
    assert np.abs(correlations).max() > 0.3
    assert rs.datasets.synthetic(10, 3, dtype=np.float32)[0].dtype == np.float32
    assert rs.datasets.synthetic(10, 3, uncertain=False)[0].spread.is_zero
    assert (y == rs.datasets.synthetic(20_000, 10, random_state=3)[1]).all()
    assert set(same) == {-1.0, 1.0}


@pytest.mark.parametrize("make", (rs.datasets.moons, rs.datasets.rings))
def test_shapes_to_look_at(make):
    points, y = make(300, std=0.1, random_state=1)
    assert points.shape == (300, 2)
    assert (y == 1).sum() == 150
    bars = points.spread.radii()
    assert 0 <= bars.min() < 0.02 < 0.18 < bars.max() <= 0.2
    exact, _ = make(300, std=0.0, noise=0.0)
    assert exact.spread.radii().max() == 0
    inner = np.linalg.norm(make(300, std=0.0, noise=0.0)[0].means, axis=1)
    assert inner.max() <= 2.3


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: rs.datasets.synthetic(1, 3), "n must be a whole number of at least 2"),
        (lambda: rs.datasets.synthetic(10, 0), "d must be a whole number of at least 1"),
        (lambda: rs.datasets.moons(10, std=-1.0), "std must be"),
        (lambda: rs.uncertainty.image_shifts(np.ones((2, 7))), "7 pixels are not 3 x 3"),
        (lambda: rs.uncertainty.image_shifts(np.ones(5)), "images must be"),
        (lambda: rs.uncertainty.image_shifts(np.ones((2, 3, 3)), pixels=-1), "pixels must be"),
        (lambda: rs.uncertainty.image_shifts(np.full((2, 3, 3), np.nan)), "images contains NaN"),
        (lambda: rs.uncertainty.image_shifts(np.ones((2, 3, 3)), shape=(2, 4)), r"shape is \(2, 4\)"),
        (lambda: rs.testing.assert_certified(rs.testing.reference_problems()[0].problem, np.ones(3)), "w must have"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_image_shifts_predict_what_a_shift_does():
    """A smooth image moved by a small amount changes by its factor times the amount."""
    rows, columns = np.mgrid[:28, :28]

    def image(right, down):
        return np.exp(-((columns - 13 - right) ** 2 + (rows - 15 - down) ** 2) / 30.0)

    points = rs.uncertainty.image_shifts(image(0, 0)[None], pixels=0.5)
    factor = points.spread.factor()[0] / 0.5
    for right, down in ((0.1, 0.0), (0.0, 0.1), (-0.1, 0.2)):
        change = (image(right, down) - image(0, 0)).ravel()
        # Towards the right the picture darkens where it brightened towards the right: minus the derivative.
        predicted = -(factor @ [right, down])
        assert np.linalg.norm(change - predicted) <= 0.1 * np.linalg.norm(change)


def test_image_shifts_keep_precision_and_shape():
    images = np.random.default_rng(0).random((3, 4, 6)).astype(np.float32)
    points = rs.uncertainty.image_shifts(images)
    assert points.dtype == np.float32
    assert points.spread.values.dtype == np.float32
    assert points.shape == (3, 24)
    flat = rs.uncertainty.image_shifts(images.reshape(3, 24), shape=(4, 6))
    np.testing.assert_array_equal(points.spread.values, flat.spread.values)
    square = rs.uncertainty.image_shifts((255 * np.random.default_rng(1).random((2, 25))).astype(np.uint8))
    assert square.shape == (2, 25)
    assert square.dtype == np.float64
