"""A file of points runs no code, and a damaged one is an error, never other points."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import robustsvm as rs
from tests.cases import make_points, sparse_means


@pytest.fixture
def stored(tmp_path):
    """A saved file and a way to tamper with it."""
    points, _ = make_points("shared_full", n=8)
    path = tmp_path / "points.npz"
    rs.save(points, path)

    def tamper(header=None, drop=(), **arrays):
        with np.load(path) as file:
            content = {name: file[name] for name in file.files if name not in drop}
        content |= arrays
        if header is not None:
            content["header"] = np.array(json.dumps(json.loads(str(content["header"])) | header))
        target = tmp_path / "tampered.npz"
        np.savez(target, **content)
        return target

    return path, tamper


def test_sparse_points_names_norm_and_precision_survive(tmp_path):
    X = sparse_means(20, 5, 0.3).astype(np.float32)
    points = rs.UncertainPoints(X, std=0.5, p=1.5, feature_names=list("abcde"))
    rs.save(points, str(tmp_path / "no_suffix"))
    again = rs.load(tmp_path / "no_suffix")
    assert again == points
    assert (again.dtype, again.p, again.feature_names.tolist()) == (np.float32, 1.5, list("abcde"))


@pytest.mark.parametrize(
    "change",
    [
        {"header": {"version": 2}},
        {"header": {"version": "1"}},
        {"header": {"format": "something else"}},
        {"header": {"kind": "certain"}},
        {"header": {"kind": "isotropic"}},
        {"header": {"kind": "diagonal"}},
        {"header": {"kind": "unheard of"}},
        {"header": {"p": "0.5"}},
        {"header": {"p": "inf"}},
        {"drop": ["spread_group"]},
        {"drop": ["means"]},
        {"drop": ["header"]},
        {"extra": np.zeros(3)},
        {"spread_group": np.full(8, 99)},
        {"spread_group": np.zeros(8)},
        {"spread_group": np.zeros(3, int)},
        {"spread_values": np.full((3, 4, 4), np.nan)},
        {"spread_values": -np.repeat(np.eye(4)[None], 3, 0)},
        {"spread_values": np.ones((3, 5, 5))},
        {"means": np.full((8, 4), np.inf)},
        {"means": np.array([["a"]])},
    ],
    ids=str,
)
def test_a_tampered_file_is_an_error(stored, change):
    _, tamper = stored
    with pytest.raises(ValueError, match=r"damaged|version"):
        rs.load(tamper(**change))


def test_indices_that_point_outside_are_an_error_and_not_a_crash(tmp_path):
    path = tmp_path / "sparse.npz"
    rs.save(rs.UncertainPoints(sp.csr_array(np.eye(4)[:, :2]), std=0.1), path)
    with np.load(path) as file:
        content = {name: file[name] for name in file.files}
    for indices in (np.array([0, 2**30], np.int32), np.array([-5, 1], np.int32), np.array([0.0, 1.0])):
        np.savez(path, **content | {"indices": indices})
        with pytest.raises(ValueError, match="damaged"):
            rs.load(path)


def test_truncated_foreign_and_pickled_files_are_errors(stored, tmp_path):
    path, _ = stored
    whole = path.read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 10):
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(ValueError, match="not a file of robustsvm points"):
            rs.load(tmp_path / "cut")
    np.savez(tmp_path / "foreign.npz", header=np.array({"run": print}, dtype=object))
    for name in ("foreign.npz",):
        with pytest.raises(ValueError, match="not a file of robustsvm points"):
            rs.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        rs.load(tmp_path / "nowhere.npz")


def test_no_flipped_byte_loads_other_points(stored, tmp_path):
    path, _ = stored
    whole, points = path.read_bytes(), rs.load(path)
    for position in range(0, len(whole), 23):
        flipped = bytearray(whole)
        flipped[position] ^= 0xFF
        (tmp_path / "flipped").write_bytes(flipped)
        try:
            assert rs.load(tmp_path / "flipped") == points  # a byte that means nothing, such as a time stamp
        except ValueError as error:
            assert "flipped" in str(error)


def test_a_failed_save_leaves_the_old_file(stored, monkeypatch):
    path, _ = stored
    points = rs.load(path)
    monkeypatch.setattr(np, "savez", lambda *args, **kwargs: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        rs.save(points, path)
    monkeypatch.undo()
    assert rs.load(path) == points
    assert [file.name for file in path.parent.iterdir()] == ["points.npz"]


def test_only_points_are_saved(tmp_path):
    with pytest.raises(TypeError, match="UncertainPoints"):
        rs.save(np.zeros(3), tmp_path / "x")
