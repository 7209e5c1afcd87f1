"""Saving and loading without pickle: an npz file that can run no code."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from robustsvm.checks import as_means, as_norm, require_finite
from robustsvm.points import UncertainPoints
from robustsvm.spreads import KINDS

FORMAT = "robustsvm.points"
FORMAT_VERSION = 1


def save(points: UncertainPoints, path: str | os.PathLike[str]) -> None:
    """Write `points` to an npz file at exactly `path`, in the structure they have: nothing is expanded.

    The file holds ``header`` (JSON text with the format's name and version, the kind of spread and p),
    the means (``means``, or ``data``, ``indices``, ``indptr`` and ``shape`` when sparse), what the
    spread stores (``spread_values``, ``spread_group``, ``spread_scale``, each where there is one) and
    ``feature_names``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import robustsvm as rs
    >>> pts = rs.UncertainPoints([[0.0, 1.0], [2.0, 3.0]], std=[0.1, 0.2], p=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rs.save(pts, pathlib.Path(folder) / "points.npz")
    ...     rs.load(pathlib.Path(folder) / "points.npz") == pts
    True
    """
    if not isinstance(points, UncertainPoints):
        raise TypeError(f"save takes UncertainPoints, got {type(points).__name__}.")
    header = {"format": FORMAT, "version": FORMAT_VERSION, "kind": points.spread.kind, "p": repr(points.p)}
    arrays: dict[str, Any] = {"header": np.array(json.dumps(header))}
    if sp.issparse(points.means):
        for name in ("data", "indices", "indptr"):
            arrays[name] = getattr(points.means, name)
        arrays["shape"] = np.array(points.shape)
    else:
        arrays["means"] = points.means
    arrays |= {f"spread_{name}": array for name, array in points.spread.arrays().items()}
    if points.feature_names is not None:
        arrays["feature_names"] = points.feature_names
    with Path(path).open("wb") as file:
        np.savez(file, **arrays)


def load(path: str | os.PathLike[str]) -> UncertainPoints:
    """Read what `save` wrote; a damaged, foreign or newer file is an error."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        header = json.loads(str(arrays["header"]))
        if header["format"] != FORMAT:
            raise KeyError(header["format"])
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{os.fspath(path)} is not a file of robustsvm points, or it is damaged ({error}).") from None
    if header["version"] > FORMAT_VERSION:
        raise ValueError(
            f"{os.fspath(path)} has format version {header['version']}, this robustsvm reads up to {FORMAT_VERSION}."
        )
    try:
        return _assembled(header, arrays)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)} is damaged: {error}.") from None


def _assembled(header: dict[str, Any], arrays: dict[str, Any]) -> UncertainPoints:
    if "means" in arrays:
        means = as_means(arrays["means"])
    else:
        n, d = (int(size) for size in arrays["shape"])
        means = as_means(sp.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(n, d)))
    values, group, scale = (arrays.get(f"spread_{name}") for name in ("values", "group", "scale"))
    for name, array in (("values", values), ("scale", scale)):
        if array is not None:
            require_finite(array, f"spread_{name}")
    n, d = means.shape
    if scale is not None and (scale.shape != (n,) or (scale < 0).any()):
        raise ValueError(f"spread_scale has shape {scale.shape} for {n} points, or negative entries")
    spread = KINDS[header["kind"]](n, d, values, group, scale)
    atoms = spread.atom_of()
    if atoms.shape != (n,) or atoms.min() < 0 or atoms.max() >= spread.n_atoms:
        raise ValueError("spread_group does not match the points")
    if values is not None and values.shape[1] != d:
        raise ValueError(f"spread_values has {values.shape[1]} features, the means have {d}")
    return UncertainPoints._from(means, spread, as_norm(float(header["p"])), arrays.get("feature_names"))
