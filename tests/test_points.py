"""The container: every way to build it, and what survives slicing, scaling, pickling and saving."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold, train_test_split
from sklearn.utils import _safe_indexing

import robustsvm as rs
from robustsvm.spreads import Certain, Diagonal, DiagonalVariance, Factor, Full, Isotropic
from tests.cases import SPREADS, make_points

EVERY = pytest.mark.parametrize("kind", SPREADS)
X = np.arange(12.0).reshape(4, 3)


def same(points, means, covariance):
    """Whether points have these means and covariances, the slow way."""
    dense = points.means.toarray() if sp.issparse(points.means) else points.means
    np.testing.assert_allclose(dense, means)
    np.testing.assert_allclose(points.covariance(), covariance, atol=1e-12)


@pytest.mark.parametrize(
    "given,kind,diagonals",
    [
        ({}, Certain, np.zeros((4, 3))),
        ({"std": 2.0}, Isotropic, np.full((4, 3), 4.0)),
        ({"std": [1, 2, 3, 4]}, Isotropic, np.repeat([[1], [4], [9], [16]], 3, axis=1)),
        ({"std": X}, Diagonal, X**2),
        ({"std": [[1, 2, 3]]}, Diagonal, np.repeat([[1, 4, 9]], 4, axis=0)),
        ({"var": 4.0}, Isotropic, np.full((4, 3), 4.0)),
        ({"var": [1, 2, 3, 4]}, Isotropic, np.repeat([[1], [2], [3], [4]], 3, axis=1)),
        ({"var": X}, DiagonalVariance, X),
        ({"cov": np.diag([1, 2, 3])}, Full, np.repeat([[1, 2, 3]], 4, axis=0)),
        ({"cov": [np.eye(3) * k for k in range(4)]}, Full, np.repeat([[0], [1], [2], [3]], 3, axis=1)),
        ({"cov": [np.eye(3), 2 * np.eye(3)], "group": [0, 1, 1, 0]}, Full, np.repeat([[1], [2], [2], [1]], 3, axis=1)),
        ({"factor": X[:, :, None]}, Factor, X**2),
        ({"factor": X[:2, :, None], "group": [1, 1, 0, 0]}, Factor, X[[1, 1, 0, 0]] ** 2),
        ({"factor": X[:1, :, None]}, Factor, X[[0, 0, 0, 0]] ** 2),
        ({"std": [1, 2], "group": [1, 1, 0, 0]}, Isotropic, np.repeat([[4], [4], [1], [1]], 3, axis=1)),
        ({"std": X[:2], "group": [1, 1, 0, 0]}, Diagonal, X[[1, 1, 0, 0]] ** 2),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_every_way_to_build_them(given, kind, diagonals):
    points = rs.UncertainPoints(X, **given)
    assert type(points.spread) is kind
    np.testing.assert_allclose(np.einsum("ndd->nd", points.covariance()), diagonals, atol=1e-12)
    assert (points.shape, len(points), points.ndim, points.p) == ((4, 3), 4, 2, 2.0)


@EVERY
@pytest.mark.parametrize(
    "key",
    [slice(None), slice(1, 30, 3), slice(None, None, -1), [0, 0, 5], np.array([3]), np.array([-1, 2]), 7, np.int64(-2),
     np.arange(40) % 3 == 0, ..., (slice(2, 9), ...), (np.array([4, 1]), ...), (slice(0, 4), slice(None))],
    ids=str,
)  # fmt: skip
def test_rows_by_anything_numpy_takes(kind, key):
    points, _ = make_points(kind)
    rows = key[0] if isinstance(key, tuple) else key
    index = np.atleast_1d(np.arange(40)[rows])
    same(points[key], points.means[index], points.covariance()[index])


@EVERY
def test_slices_share_memory_and_leave_unused_atoms_behind(kind):
    points, _ = make_points(kind)
    assert np.shares_memory(points[5:20].means, points.means)
    few = points[:2]
    assert few.spread.n_atoms <= 2
    assert few.nbytes < points.nbytes


@EVERY
def test_scaling_copying_pickling_and_saving(kind, tmp_path):
    points, _ = make_points(kind)
    radii = np.linspace(0, 2, 40)
    np.testing.assert_allclose(
        points.scaled(radii).covariance(), points.covariance() * radii[:, None, None] ** 2, atol=1e-12
    )
    np.testing.assert_allclose(points.scaled(3.0).spread.traces(), 9 * points.spread.traces())
    rs.save(points, tmp_path / "points.npz")
    for twin in (
        points.copy(),
        copy.deepcopy(points),
        pickle.loads(pickle.dumps(points)),
        rs.load(tmp_path / "points.npz"),
    ):
        assert twin == points
        assert twin.spread.n_atoms == points.spread.n_atoms
        assert not np.shares_memory(twin.means, points.means)
    assert points.scaled(2.0) != points or kind == "certain"
    assert points != "points"


@EVERY
def test_isotropic_keeps_the_trace_and_columns_the_marginal(kind):
    points, _ = make_points(kind)
    round_points = points.isotropic()
    np.testing.assert_allclose(round_points.spread.traces(), points.spread.traces(), atol=1e-12)
    assert type(round_points.spread) is Isotropic
    for columns in ([2, 0], [1], slice(1, 3), np.array([True, False, True, True])):
        index = np.arange(4)[columns]
        same(points.columns(columns), points.means[:, index], points.covariance()[:, index][:, :, index])


@EVERY
def test_draws_have_the_mean_and_covariance_they_should(kind):
    points, _ = make_points(kind, n=5)
    draws = points.sample(40_000, random_state=0)
    assert draws.shape == (40_000, 5, 4)
    variances = np.einsum("ndd->nd", points.covariance())
    error = 5 * np.sqrt(variances / 40_000)
    assert (np.abs(draws.mean(axis=0) - points.means) <= error + 1e-9).all()
    for i in range(5):
        size = np.sqrt(np.outer(variances[i], variances[i]))
        assert (np.abs(np.cov(draws[:, i].T) - points.covariance()[i]) <= 0.04 * size + 1e-9).all()
    np.testing.assert_array_equal(points.sample(2, random_state=np.random.default_rng(3)), points.sample(2, 3))


@EVERY
@pytest.mark.parametrize("other", SPREADS)
def test_concatenation_is_exact_or_refused(kind, other):
    one, two = make_points(kind)[0], make_points(other, seed=9)[0]
    try:
        both = one.concatenate(two, one[:3])
    except TypeError as error:
        assert "without expanding" in str(error) or "rank" in str(error)
        kinds = {type(one.spread), type(two.spread)}
        assert len(kinds) == 2
        assert not kinds <= {Certain, Isotropic, Diagonal, DiagonalVariance}
        return
    same(
        both,
        np.concatenate([one.means, two.means, one.means[:3]]),
        np.concatenate([one.covariance(), two.covariance(), one.covariance()[:3]]),
    )
    assert both.nbytes <= one.nbytes + two.nbytes + one[:3].nbytes + 20 * len(both) + 8 * 4 * 4 * 2


def test_memory_maps_stay_mapped(tmp_path):
    for name, array in {"X": X, "S": X + 1, "C": np.repeat(np.eye(3)[None], 4, 0)}.items():
        np.save(tmp_path / name, array)
    mapped = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "XSC"}
    for points, stored in (
        (rs.UncertainPoints(mapped["X"], std=mapped["S"]), mapped["S"]),
        (rs.UncertainPoints(mapped["X"], var=mapped["S"]), mapped["S"]),
        (rs.UncertainPoints(mapped["X"], cov=mapped["C"]), mapped["C"]),
    ):
        for part in (points, points[1:3], points.scaled(2.0), points.with_p(2)):
            assert np.shares_memory(part.means, mapped["X"])
            assert np.shares_memory(part.spread.values, stored)


def test_saving_over_the_file_the_points_are_mapped_from(tmp_path):
    np.save(tmp_path / "X.npy", X)
    points = rs.UncertainPoints(np.load(tmp_path / "X.npy", mmap_mode="r"), std=0.1)
    rs.save(points, tmp_path / "X.npy")
    np.testing.assert_array_equal(rs.load(tmp_path / "X.npy").means, X)


def test_the_callers_arrays_are_never_changed_and_checked_numbers_do_not_change_later():
    std, gamma, y = np.ones(4), np.ones(4), [-1, -1, 1, 1]
    before = X.copy()
    points = rs.UncertainPoints(X, std=std)
    f = rs.formulations.worst_case(points, y, lam=0.1, gamma=gamma)
    std[:], gamma[:] = -9, -9
    assert (points.spread.scale == 1).all()
    assert (f.parameters["gamma"].value == 1).all()
    f.solve()
    np.testing.assert_array_equal(X, before)
    for name in ("means", "spread", "p", "feature_names"):
        with pytest.raises(AttributeError):
            setattr(points, name, None)


def test_precision_order_and_sparse_formats_are_kept_or_brought_to_csr():
    assert rs.UncertainPoints(X.astype(np.float32)).dtype == np.float32
    assert rs.UncertainPoints(X.astype(int)).dtype == np.float64
    assert rs.UncertainPoints(np.asfortranarray(X)).means.flags.f_contiguous
    for form in (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix):
        points = rs.UncertainPoints(form(X), std=0.1)
        assert isinstance(points.means, sp.csr_array)
        assert (points[[0, 2]].means.toarray() == X[[0, 2]]).all()
        assert "sparse" in repr(points)
    assert type(rs.UncertainPoints(X.view(type("Unusual", (np.ndarray,), {}))).means) is np.ndarray


def test_tables_bring_their_names_and_must_agree():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    errors = pd.DataFrame(X + 1, columns=["a", "b", "c"])
    points = rs.UncertainPoints(table, std=errors)
    assert points.feature_names.tolist() == ["a", "b", "c"]
    assert points.columns(["c", "a"]).feature_names.tolist() == ["c", "a"]
    assert points[1:].feature_names.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match=r"by position.*'b', 'a', 'c'.*same order"):
        rs.UncertainPoints(table, std=errors[["b", "a", "c"]])
    with pytest.raises(ValueError, match="index differs"):
        rs.UncertainPoints(table, std=errors.iloc[::-1])
    suffixed = errors.add_suffix("_err")
    assert rs.UncertainPoints(table, std=suffixed) == points
    with pytest.raises(ValueError, match="by position"):
        rs.UncertainPoints(table, std=suffixed[["b_err", "a_err", "c_err"]])


def test_scikit_learn_splits_them_and_nothing_drops_the_spread():
    points, y = make_points("full")
    train, test, _, y_test = train_test_split(points, y, test_size=10, random_state=0, stratify=y)
    assert (len(train), len(test), len(y_test)) == (30, 10, 10)
    assert type(train.spread) is Full
    for chosen, _ in KFold(4).split(points):
        same(_safe_indexing(points, chosen), points.means[chosen], points.covariance()[chosen])
    for action in (np.asarray, np.array, np.linalg.norm):
        with pytest.raises(TypeError, match="drop the spread"):
            action(points)


def test_norms_other_than_two_are_sets_and_not_gaussians():
    points = rs.UncertainPoints(X, std=1.0, p=np.inf)
    assert (points.p, points.q, points.with_p(1).q) == (np.inf, 1.0, np.inf)
    for method in (points.covariance, points.isotropic, lambda: points.sample(3)):
        with pytest.raises(ValueError, match=r"with_p\(2\)"):
            method()


def test_repr_says_what_there_is():
    assert repr(rs.UncertainPoints(X, cov=np.eye(3))) == "UncertainPoints(n=4, d=3, spread=Full (1 shared), p=2)"
    assert repr(rs.UncertainPoints(X, std=X, p=1)) == "UncertainPoints(n=4, d=3, spread=Diagonal, p=1)"
