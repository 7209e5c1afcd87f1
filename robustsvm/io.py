"""Saving and loading without pickle: an npz file that can run no code."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from robustsvm.checks import as_means
from robustsvm.points import UncertainPoints

FORMAT = "robustsvm.points"
FORMAT_VERSION = 1


def save(points: UncertainPoints, path: str | os.PathLike[str]) -> None:
    """Write `points` to an npz file at exactly `path`, in the structure they have: nothing is expanded.

    The file holds ``header`` (JSON text: the format's name and version, the kind of spread, p, and the
    names of the other arrays), the means (``means``, or ``data``, ``indices``, ``indptr`` and ``shape``
    when sparse), what the spread stores (``spread_values``, ``spread_group``, ``spread_scale``, each
    where there is one) and ``feature_names``.

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
    arrays: dict[str, Any] = {}
    if sp.issparse(points.means):
        arrays |= {name: getattr(points.means, name) for name in ("data", "indices", "indptr")}
        arrays["shape"] = np.array(points.shape)
    else:
        arrays["means"] = points.means
    arrays |= {f"spread_{name}": array for name, array in points.spread.arrays().items()}
    if points.feature_names is not None:
        arrays["feature_names"] = points.feature_names
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "kind": points.spread.kind,
        "p": repr(points.p),
        "arrays": sorted(arrays),
    }
    target = Path(path)
    # Written beside the target and moved over it: a failure, or a target the points are mapped from, loses nothing.
    with tempfile.NamedTemporaryFile("wb", dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
        try:
            np.savez(file, header=np.array(json.dumps(header)), **arrays)
        except BaseException:
            os.unlink(file.name)
            raise
    os.replace(file.name, target)


def load(path: str | os.PathLike[str]) -> UncertainPoints:
    """Read what `save` wrote; a damaged, foreign or newer file is an error."""
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored.files}
        header = json.loads(str(arrays.pop("header")))
        if header["format"] != FORMAT or not isinstance(header["version"], int):
            raise KeyError("format")
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except Exception as error:  # whatever a damaged archive makes the readers raise
        what = type(error).__name__
        raise ValueError(f"{name} is not a file of robustsvm points, or it is damaged ({what}).") from None
    if not 1 <= header["version"] <= FORMAT_VERSION:
        raise ValueError(f"{name} has format version {header['version']}, this robustsvm reads 1 to {FORMAT_VERSION}.")
    try:
        return _assembled(header, arrays)
    except Exception as error:
        raise ValueError(f"{name} is damaged: {error}") from None


def _assembled(header: dict[str, Any], arrays: dict[str, Any]) -> UncertainPoints:
    """Points through the same checks that a user's arrays pass."""
    if sorted(arrays) != header["arrays"]:
        raise ValueError(f"it holds {sorted(arrays)} and should hold {header['arrays']}")
    if "means" in arrays:
        means = as_means(arrays["means"])
    else:
        if arrays["indices"].dtype.kind != "i" or arrays["indptr"].dtype.kind != "i":
            raise ValueError("the indices of the sparse means are not integers")
        n, d = (int(size) for size in arrays["shape"])
        means = as_means(sp.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(n, d)))
    values, group, scale = (arrays.get(f"spread_{name}") for name in ("values", "group", "scale"))
    kind = header["kind"]
    expected = {"certain": (False, False), "isotropic": (False, True)}.get(kind, (True, scale is not None))
    if (values is not None, scale is not None) != expected:
        raise ValueError(f"a spread of kind {kind!r} with the wrong arrays")
    argument = {"diagonal": "std", "diagonal_variance": "var", "full": "cov", "factor": "factor"}
    given = {"std": scale} if kind == "isotropic" else {} if kind == "certain" else {argument[kind]: values}
    points = UncertainPoints(
        means, **given, group=group, p=float(header["p"]), feature_names=arrays.get("feature_names")
    )
    if points.spread.kind != kind:
        raise ValueError(f"its spread is not of kind {kind!r}")
    return points if scale is None or kind == "isotropic" else points.scaled(scale)
