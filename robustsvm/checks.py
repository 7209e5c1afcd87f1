"""Checks of what users hand in: each error names the argument, what was wrong and what to do."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from robustsvm.blocks import Floats, extremes, row_blocks
from robustsvm.spreads import Certain, Diagonal, DiagonalVariance, Factor, Full, Isotropic, Spread, correlation_form

LARGEST = 1e100  # squares, and products with weights, still fit into a float


def as_floats(values: Any, name: str) -> Any:
    """A float32 or float64 array, not copied if it is one already (memory maps stay mapped)."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; fill or drop the masked entries first.")
    try:
        array = values if isinstance(values, np.memmap) else np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be a rectangular array of numbers; its rows differ in length.") from None
    if array.dtype.kind == "O" and not any(isinstance(entry, (str, bytes)) for entry in array.flat):
        with contextlib.suppress(TypeError, ValueError):
            array = array.astype(np.float64)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, got {type(values).__name__} of dtype {array.dtype}.")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def require_finite(values: Any, name: str) -> None:
    """Raise if an entry is NaN, infinite, or too large to compute with."""
    low, high = extremes(values)
    if not (np.isfinite(low) and np.isfinite(high)):
        many = "; impute or drop those rows first" if np.ndim(values) > 1 else ""
        raise ValueError(f"{name} contains NaN or infinity{many}.")
    if max(-low, high) > LARGEST:
        raise ValueError(f"{name} has entries of size {max(-low, high):.0e}; rescale it, squares of it would overflow.")


def as_means(X: Any) -> Any:
    """Means as a dense (n, d) array or a CSR array, finite and not empty."""
    if sp.issparse(X):
        if X.dtype.kind not in "fiub":
            raise TypeError(f"X must hold real numbers, got dtype {X.dtype}.")
        means = sp.csr_array(X)
        means.check_format(full_check=True)
        if means.dtype not in (np.float32, np.float64):
            means = means.astype(np.float64)
    else:
        means = as_floats(X, "X")
    if means.ndim != 2:
        raise ValueError(
            f"X must be 2-D, (n_samples, n_features), got {means.ndim}-D of shape {means.shape}; "
            "use X[:, None] for one feature or X[None, :] for one sample."
        )
    if 0 in means.shape:
        raise ValueError(f"X is empty: shape {means.shape}. At least one sample and one feature are needed.")
    require_finite(means, "X")
    return means


def as_norm(p: float | None) -> float:
    """The norm of the uncertainty set, in [1, infinity]."""
    if p is None:
        return 2.0
    if np.asarray(p).ndim != 0 or np.asarray(p).dtype.kind not in "fiu":
        raise TypeError(f"p must be a number in [1, inf], got {p!r}.")
    if not p >= 1:
        raise ValueError(f"p must be a number in [1, inf], got {p!r}: below 1 the set is not convex.")
    return float(p)


def as_names(feature_names: Any, d: int) -> Any:
    """Distinct names of the d features."""
    if isinstance(feature_names, str) or not np.iterable(feature_names):
        raise TypeError(f"feature_names must be a sequence of {d} names, got {feature_names!r}.")
    names = np.asarray([str(name) for name in feature_names], dtype=str)
    if names.shape != (d,):
        raise ValueError(f"feature_names has {len(names)} names for {d} features.")
    if len(np.unique(names)) < d:
        raise ValueError("feature_names must be distinct.")
    return names


def require_aligned(X: Any, errors: Any, name: str) -> None:
    """Tables are matched by position: raise where their labels show that positions do not match."""
    columns = [[str(label) for label in getattr(table, "columns", ())] for table in (X, errors)]
    for k, label in enumerate(columns[0]):
        at = [j for j, other in enumerate(columns[1]) if label == other] or [
            j for j, other in enumerate(columns[1]) if other.startswith(label)
        ]
        if at and k not in at:
            raise ValueError(
                f"{name} is matched to X by position, but its columns are {columns[1]} and X's are {columns[0]}; "
                f"bring them into the same order, or pass {name}.to_numpy() if this one is meant."
            )
    ours, theirs = getattr(X, "index", None), getattr(errors, "index", None)
    if ours is None or theirs is None or callable(ours) or callable(theirs):  # a list's index is a method
        return
    if list(ours) != list(theirs):
        raise ValueError(f"{name} and X are tables whose index differs; bring their rows into the same order first.")


def as_group(group: Any, n_points: int, n_atoms: int, name: str) -> Any:
    """Which of the `n_atoms` shared spreads each point uses."""
    index = np.asarray(group)
    if index.shape != (n_points,):
        raise ValueError(f"group must have one entry per sample, shape ({n_points},), got {index.shape}.")
    if index.dtype.kind not in "iu":
        raise TypeError(f"group must hold integers (row numbers into {name}), got dtype {index.dtype}.")
    if index.min() < 0 or index.max() >= n_atoms:
        raise ValueError(
            f"group must hold row numbers 0 .. {n_atoms - 1} into {name}, got {index.min()} .. {index.max()}."
        )
    return index.astype(np.intp)


def spread_from(
    shape: tuple[int, int], *, std: Any = None, var: Any = None, cov: Any = None, factor: Any = None, group: Any = None
) -> Spread:
    """The spread that one of ``std=``, ``var=``, ``cov=``, ``factor=`` describes."""
    given = {k: v for k, v in {"std": std, "var": var, "cov": cov, "factor": factor}.items() if v is not None}
    if len(given) > 1:
        raise ValueError(f"give one of std, var, cov and factor, not {' and '.join(given)}.")
    if not given:
        if group is not None:
            raise ValueError("group needs std, var, cov or factor to point into.")
        return Certain(*shape)
    ((name, values),) = given.items()
    if sp.issparse(values):
        raise TypeError(f"{name} must be a dense array; only X may be sparse.")
    values = as_floats(values, name)
    require_finite(values, name)
    if name in ("std", "var"):
        return _error_bars(shape, values, name, group)
    return _matrices(shape, values, name, group)


def _error_bars(shape: tuple[int, int], values: Any, name: str, group: Any) -> Spread:
    n, d = shape
    smallest = extremes(values)[0]
    if smallest < 0:
        raise ValueError(f"{name} must not be negative; the smallest entry is {smallest:g}.")
    if group is not None and (values.ndim == 0 or len(values) == 0):
        raise ValueError(f"group needs {name} with one row per group, got shape {values.shape}.")
    rows = n if group is None else len(values)
    index = None if group is None else as_group(group, n, rows, name)
    if values.ndim < 2:
        if values.ndim == 1 and len(values) != rows:
            hint = f"; for one error bar per feature pass {name}[None, :]" if len(values) == d else ""
            raise ValueError(f"{name} of shape {values.shape} does not match {n} samples{hint}.")
        radii = np.asarray(values if name == "std" else np.sqrt(values), np.float64)
        scale = np.full(n, radii) if radii.ndim == 0 else radii.copy() if index is None else radii[index]
        return Isotropic(n, d, None, None, scale)
    if values.shape not in {(rows, d), (1, d)}:
        shapes = f"a scalar, ({n},), ({n}, {d}) or (1, {d})" if group is None else f"(k,) or (k, {d}) with group"
        raise ValueError(f"{name} must be {shapes}, got {values.shape}.")
    kind = Diagonal if name == "std" else DiagonalVariance
    return kind(n, d, values, index)


def _matrices(shape: tuple[int, int], values: Any, name: str, group: Any) -> Spread:
    n, d = shape
    last, given = "d" if name == "cov" else "r", values.shape
    if name == "cov" and values.ndim == 2:
        values = values[None]
    if values.ndim != 3 or values.shape[1] != d or (name == "cov" and values.shape[2] != d):
        shared = f", ({d}, {d})" if name == "cov" else ""
        raise ValueError(
            f"{name} must have shape (n, d, {last}){shared} or, with group=, (k, d, {last}); "
            f"here n = {n}, d = {d}, got {given}."
        )
    if group is None and len(values) not in (1, n):
        raise ValueError(f"{name} has {len(values)} matrices for {n} samples; pass group= to say which is whose.")
    index = None if group is None else as_group(group, n, len(values), name)
    if name == "cov":
        _require_psd(values)
        return Full(n, d, values, index)
    if values.shape[2] == 0:
        return Certain(n, d)
    return Factor(n, d, values, index)


def _require_psd(covs: Any) -> None:
    """Symmetric and positive semidefinite up to rounding in the precision they were given in.

    Judged on the correlations, so that rounding in features of large units excuses nothing in small ones.
    """
    d = covs.shape[1]
    eps = float(np.finfo(covs.dtype).eps)
    for rows in row_blocks(len(covs), d * d):
        std, block = correlation_form(np.asarray(covs[rows], np.float64))
        negative = (np.einsum("kdd->kd", np.asarray(covs[rows], np.float64)) < 0).any(axis=1)
        if _clearly_psd(block, std, 32 * d * eps):
            continue
        skew = np.abs(block - block.transpose(0, 2, 1)).max(axis=(1, 2))
        if (skew > 100 * eps).any() and not negative.any():
            at = rows.start + int(np.argmax(skew))
            raise ValueError(f"cov[{at}] is not symmetric; pass (cov + cov.swapaxes(-1, -2)) / 2 if that is meant.")
        smallest = np.where(negative, -np.inf, np.linalg.eigvalsh(block)[:, 0])
        # Without a variance there is no correlation, whatever rounding may say.
        smallest = np.where((np.abs(block) * (std == 0)[:, :, None]).any(axis=(1, 2)), -np.inf, smallest)
        if (smallest < -64 * d * eps).any():
            at = rows.start + int(np.argmin(smallest))
            found = np.linalg.eigvalsh(np.asarray(covs[at], np.float64))[0]
            raise ValueError(
                f"cov[{at}] is not positive semidefinite: smallest eigenvalue {found:g}. No random vector has such a "
                "covariance; clip its negative eigenvalues if they are estimation error."
            )


def _clearly_psd(correlations: Floats, std: Floats, slack: float) -> bool:
    """Whether all are symmetric and, with `slack` on the diagonal, have a Cholesky factor: cheaper than eigenvalues."""
    if not (std > 0).all() or np.abs(correlations - correlations.transpose(0, 2, 1)).max() > slack:
        return False
    try:
        np.linalg.cholesky(correlations + slack * np.eye(correlations.shape[1]))
    except np.linalg.LinAlgError:
        return False
    return True


def as_labels(y: Any, n: int, *, both: bool = True) -> Floats:
    """Labels -1 and +1; both present unless they are only to be scored."""
    if isinstance(y, np.ma.MaskedArray):
        raise TypeError("y is a masked array; drop the samples without a label first.")
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.shape != (n,):
        raise ValueError(f"y must have one label per sample, shape ({n},), got {labels.shape}.")
    found = set(labels.tolist())
    if labels.dtype.kind not in "fiuO" or not found <= {-1, 1} or any(isinstance(label, bool) for label in found):
        shown = ", ".join(sorted(repr(label) for label in found)[:4])
        raise ValueError(
            f"y must hold -1 and +1, got {shown}; for two other labels pass np.where(y == positive, 1, -1)."
        )
    if both and len(found) == 1:
        raise ValueError(f"y has one class only ({found.pop():+g}); two are needed to separate them.")
    return labels.astype(np.float64)


def as_raw_weights(sample_weight: Any, y: Floats) -> Floats:
    """Weights as they are: finite, not negative, one per sample."""
    if sample_weight is None:
        return np.ones(len(y))
    weights = np.asarray(as_floats(sample_weight, "sample_weight"), np.float64)
    if weights.ndim == 0:
        weights = np.full(len(y), float(weights))
    if weights.shape != y.shape:
        raise ValueError(f"sample_weight must have shape {y.shape}, got {weights.shape}.")
    require_finite(weights, "sample_weight")
    if (weights < 0).any():
        raise ValueError(f"sample_weight must not be negative; the smallest is {weights.min():g}.")
    return weights


def as_weights(sample_weight: Any, y: Floats) -> Floats:
    """Weights divided by their mean, so that doubling all of them changes nothing."""
    if sample_weight is None:
        return np.ones(len(y))
    weights = as_raw_weights(sample_weight, y)
    weights = weights / max(float(weights.max()), np.finfo(np.float64).tiny)
    weights = weights / max(float(weights.mean()), np.finfo(np.float64).tiny)
    for label in (-1.0, 1.0):
        if not weights[y == label].sum() > 0:
            raise ValueError(f"sample_weight is 0 for all of class {label:+g}; two classes are needed.")
    return np.asarray(weights)


def as_per_sample(values: Any, n: int, name: str) -> Floats:
    """A finite scalar, or one finite number per sample."""
    array = np.array(as_floats(values, name), np.float64)  # a copy: the caller's array may change later
    if array.shape not in {(), (n,)}:
        raise ValueError(f"{name} must be one number or shape ({n},), got {array.shape}.")
    require_finite(array, name)
    return array
