"""Details that no larger test would miss: blocks, groups, radii, copies, files, pictures."""

import json
import pickle

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp

import robustsvm as rs
from robustsvm.norms import row_norms
from tests.cases import LOSSES, SPREADS, make_points, make_problem


def test_the_covariance_at_fault_is_named_across_blocks(monkeypatch):
    monkeypatch.setattr("robustsvm.blocks.BLOCK_BYTES", 64)
    X = np.zeros((4, 2))
    with pytest.raises(ValueError, match=r"cov\[3\] is not symmetric"):
        rs.UncertainPoints(X, cov=[np.eye(2)] * 3 + [[[1, 0.5], [0, 1]]])
    with pytest.raises(ValueError, match=r"cov\[3\] is not positive.*-1"):
        rs.UncertainPoints(X, cov=[np.eye(2)] * 3 + [-np.eye(2)])


@pytest.mark.parametrize("kind", SPREADS)
def test_blocks_change_no_sum(kind, monkeypatch):
    points, _ = make_points(kind)
    s, rng = points.spread, np.random.default_rng(0)
    w, E, v = rng.normal(size=4), rng.normal(size=(s.n_atoms, s.rank)), rng.random(40)

    def all_():
        return (
            s.lift(E),
            s.project(w),
            s.displacements(w, 2.0),
            s.weighted_covariance(v),
            s.projection_matrix().toarray(),
            s.traces(),
            s.axis_lengths(),
        )

    whole = all_()
    monkeypatch.setattr("robustsvm.blocks.BLOCK_BYTES", 64)
    s.__dict__.pop("_roots", None)
    for one, other in zip(whole, all_(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-13)
    A = s.factor()
    np.testing.assert_allclose(s.weighted_covariance(v), np.einsum("n,ndr,ner->de", v, A, A), atol=1e-12)


def test_boundaries_and_margins_are_drawn_where_they_are():
    fig, ax = plt.subplots()
    ax.set_xlim(-3, 3)
    ax.set_ylim(-2, 2)
    w, b = np.array([2.0, -0.5]), 0.7
    rs.plotting.plot_boundaries({"f": (w, b)}, ax=ax, margins=True)
    levels = [line.get_xydata() @ w + b for line in ax.lines]
    np.testing.assert_allclose(levels, [[0, 0], [-1, -1], [1, 1]], atol=1e-9)
    assert (ax.get_xlim(), ax.get_ylim()) == ((-3, 3), (-2, 2))
    plt.close(fig)


def test_points_are_drawn_by_class_with_their_radius():
    pts = rs.UncertainPoints([[0.0, 0.0], [5.0, 1.0], [6.0, 2.0]], std=0.1, feature_names=["a", "b"])
    ax = rs.plotting.plot_points(pts, [-1, 1, 1], gamma=3.0)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "b")
    found = {c.get_label(): np.asarray(c.get_offsets()) for c in ax.collections}
    np.testing.assert_allclose(found["class -1"], [[0, 0]])
    np.testing.assert_allclose(found["class +1"], [[5, 1], [6, 2]])
    np.testing.assert_allclose(ax.patches[0].get_xy()[:, 0].max(), 0.3, atol=1e-3)
    plt.close(ax.figure)


def test_points_on_the_boundary_count_half():
    pts = rs.UncertainPoints([[0.0], [1.0], [-1.0]], std=[0.0, 1.0, 0.0])
    model = ([1.0], 0.0)
    assert rs.metrics.mean_error(model, pts, [1, 1, 1]) == 0.5
    assert rs.metrics.worst_case_error(model, pts[1:2], [1], gamma=1.0) == 1.0  # touches
    certain = rs.UncertainPoints([[0.0], [1.0], [-1.0]])
    assert rs.metrics.expected_error(model, certain, [1, 1, 1]) == 0.5


def test_an_atom_nobody_uses():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(20) % 2, 1, -1)
    X = rng.normal(size=(20, 2)) + y[:, None]
    pts = rs.UncertainPoints(X, cov=[0.1 * np.eye(2), 0.2 * np.eye(2), np.eye(2)], group=np.arange(20) % 2)
    same = rs.UncertainPoints(X, cov=[0.1 * np.eye(2), 0.2 * np.eye(2)], group=np.arange(20) % 2)
    assert pts.spread.gather(np.ones(20)).shape == (3,)
    for loss in LOSSES:
        one, other = (rs.solve(rs.Problem(p, y, loss, 0.05)) for p in (pts, same))
        np.testing.assert_allclose(one.objective, other.objective, rtol=2e-6)


def test_concatenating_shuffled_groups():
    C = [np.eye(2), 4 * np.eye(2)]
    one = rs.UncertainPoints(np.zeros((2, 2)), cov=C, group=[1, 0])
    both = one.concatenate(one)
    np.testing.assert_allclose(both.covariance(), np.concatenate([one.covariance()] * 2))


def test_labels_are_copied():
    y = np.array([-1.0, 1.0])
    problem = rs.Problem([[-1.0], [1.0]], y, LOSSES[0], 0.1)
    y[:] = 7
    assert problem.y.tolist() == [-1, 1]


def test_a_boolean_among_labels():
    with pytest.raises(ValueError, match="y must hold"):
        rs.Problem([[-1.0], [1.0]], np.array([-1, True], object), LOSSES[0], 0.1)


def test_concatenated_sparse_points_stay_csr():
    one = rs.UncertainPoints(sp.csr_array(np.eye(3)), std=0.1)
    other = rs.UncertainPoints(np.ones((2, 3)), std=0.2)
    both = one.concatenate(other)
    assert isinstance(both.means, sp.csr_array)
    np.testing.assert_allclose(both[[0, 4]].means.toarray(), [[1, 0, 0], [1, 1, 1]])


def test_nbytes_counts_the_radii():
    points = rs.UncertainPoints(np.zeros((10, 2)), std=np.ones(10))
    assert points.nbytes == 10 * 2 * 8 + 10 * 8


def test_a_pickle_does_not_carry_the_root():
    points, _ = make_points("full")
    before = len(pickle.dumps(points))
    points.covariance()
    assert len(pickle.dumps(points)) == before


def test_a_spread_cannot_be_declared_away(tmp_path):
    rs.save(make_points("diagonal")[0], tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz") as file:
        content = {name: file[name] for name in file.files}
    for kind in ("certain", "isotropic"):
        content["header"] = np.array(json.dumps(json.loads(str(content["header"])) | {"kind": kind}))
        np.savez(tmp_path / "q.npz", **content)
        with pytest.raises(ValueError, match="damaged"):
            rs.load(tmp_path / "q.npz")


def test_concatenate_other_names():
    one, two = (
        rs.UncertainPoints(np.eye(2), std=0.1, feature_names=names) for names in ("ab", "ba") for names in [list(names)]
    )
    with pytest.raises(ValueError, match="feature_names differ"):
        one.concatenate(two)


def test_tiny_weights():
    problem = rs.Problem([[-1.0], [1.0]], [-1, 1], LOSSES[0], 0.1, sample_weight=np.full(2, 1e-310))
    np.testing.assert_allclose(problem.weights, 1.0)


def test_one_weight_for_all():
    assert make_problem("diagonal", LOSSES[1], sample_weight=3.0).weights.tolist() == [1.0] * 40


def test_the_norm_is_saved_to_the_last_digit_and_version_0_refused(tmp_path):
    points = rs.UncertainPoints(np.eye(2), std=0.1, p=1.23456789012)
    rs.save(points, tmp_path / "p.npz")
    assert rs.load(tmp_path / "p.npz").p == 1.23456789012
    with np.load(tmp_path / "p.npz") as file:
        content = {name: file[name] for name in file.files}
    content["header"] = np.array(json.dumps(json.loads(str(content["header"])) | {"version": 0}))
    np.savez(tmp_path / "q.npz", **content)
    with pytest.raises(ValueError, match="version 0"):
        rs.load(tmp_path / "q.npz")


def test_one_negative_gamma():
    points, y = make_points("diagonal")
    with pytest.raises(ValueError, match="gamma must be >= 0, got -1"):
        rs.formulations.worst_case(points, y, lam=0.1, gamma=np.append(np.ones(39), -1.0))


def test_words_that_look_like_numbers():
    with pytest.raises(TypeError, match="real numbers"):
        rs.UncertainPoints(np.array([["1.0", 2.0]], dtype=object))


def test_all_radii_zero():
    points, _y = make_points("diagonal")
    assert points.scaled(0.0).spread.is_zero


def test_norms_neither_overflow_nor_underflow():
    for size in (1e-200, 1e200):
        np.testing.assert_allclose(row_norms(size * np.array([[3.0, 4.0]]), 2.0), 5 * size)
        np.testing.assert_allclose(row_norms(size * np.array([[1.0, 1.0]]), 3.0), 2 ** (1 / 3) * size)


def test_limits_are_kept():
    fig, ax = plt.subplots()
    ax.scatter([0.0, 1.0], [0.0, 1.0])
    before = ax.get_xlim(), ax.get_ylim()
    rs.plotting.plot_boundaries({"f": ([1.0, 0.2], 0.1)}, ax=ax)
    assert (ax.get_xlim(), ax.get_ylim()) == before
    plt.close(fig)


class Bomb:
    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_a_pickle_inside_the_file_is_not_run(tmp_path):
    np.savez(tmp_path / "bomb.npz", header=np.array(Bomb(tmp_path / "ran"), dtype=object))
    with pytest.raises(ValueError, match="not a file"):
        rs.load(tmp_path / "bomb.npz")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("kind", ["full", "factor", "shared_full"])
def test_draws_of_scaled_points(kind):
    points = make_points(kind, n=5)[0].scaled([0.0, 0.5, 1.0, 2.0, 3.0])
    draws = points.sample(20_000, random_state=0)
    for i in range(5):
        np.testing.assert_allclose(np.var(draws[:, i], axis=0), np.diag(points.covariance()[i]), rtol=0.06, atol=1e-12)


def test_certain_points_go_with_every_norm():
    certain, box = rs.UncertainPoints(np.eye(2)), rs.UncertainPoints(np.eye(2), std=0.1, p=np.inf)
    assert certain.concatenate(box).p == box.concatenate(certain).p == np.inf


def test_values_of_another_kind(tmp_path):
    rs.save(make_points("diagonal", n=8)[0], tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz") as file:
        content = {name: file[name] for name in file.files}
    np.savez(tmp_path / "q.npz", **content | {"spread_values": np.ones(8)})
    with pytest.raises(ValueError, match="damaged"):
        rs.load(tmp_path / "q.npz")


def test_the_root_of_a_covariance_is_its_deviations_times_the_root_of_its_correlations():
    points, _ = make_points("full")
    A, cov = points.spread.factor(), points.spread.values
    np.testing.assert_allclose(A @ A.transpose(0, 2, 1), cov, atol=1e-14)
    std = np.sqrt(np.einsum("ndd->nd", cov))
    np.testing.assert_array_equal(np.triu(A, 1), 0.0)
    np.testing.assert_allclose(np.linalg.norm(A / std[:, :, None], axis=2), 1.0, atol=1e-14)


def test_each_covariance_is_rooted_by_itself():
    full, singular = make_points("full", n=6)[0].spread.values, make_points("singular", n=6)[0].spread.values
    singular = singular.copy()
    singular[0] = 0.0
    mixed = rs.UncertainPoints(np.zeros((12, 4)), cov=np.concatenate([full, singular]))
    A = mixed.spread.factor()
    np.testing.assert_allclose(A @ A.transpose(0, 2, 1), mixed.spread.values, atol=1e-14)
    for rows in (slice(0, 6), slice(4, 8), slice(11, 12)):  # whoever the neighbours are
        np.testing.assert_array_equal(mixed[rows].spread.factor(), A[rows])
