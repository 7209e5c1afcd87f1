"""Passes over the data, a block of rows at a time.

Sums that enter an objective or a bound are accumulated in float64 whatever the precision of the
data: in float32 a lower bound can come out above the optimum. Casting a block at a time does that
without a second copy of the data, and leaves memory-mapped arrays mapped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

BLOCK_BYTES = 1 << 23
LARGE = 1 << 20  # entries of the means from which a second thread pays


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Slices that cover ``range(n_rows)``, each of about eight megabytes of float64 rows."""
    step = max(1, BLOCK_BYTES // (8 * max(1, width)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def matvec(X: Any, w: Floats, offset: Floats | None = None) -> Floats:
    """``(X - offset) @ w`` in float64, for dense or CSR `X` of any float type; CSR takes no offset."""
    if X.dtype == np.float64 and offset is None:
        return np.asarray(X @ w, dtype=np.float64)
    out = np.empty(X.shape[0])
    for rows in row_blocks(*X.shape):
        block = X[rows].astype(np.float64)
        out[rows] = (block if offset is None else block - offset) @ w
    return out


def rmatvec(X: Any, a: Floats, offset: Floats | None = None) -> Floats:
    """``(X - offset).T @ a`` in float64, for dense or CSR `X` of any float type; CSR takes no offset."""
    if X.dtype == np.float64 and offset is None:
        return np.asarray(X.T @ a, dtype=np.float64)
    out = np.zeros(X.shape[1])
    for rows in row_blocks(*X.shape):
        block = X[rows].astype(np.float64)
        out += (block if offset is None else block - offset).T @ a[rows]
    return out


@cache
def _second_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="robustsvm")


def both(first: Callable[[], Floats], second: Callable[[], Floats], size: int) -> tuple[Floats, Floats]:
    """The results of two passes, side by side where the data are large and there is a second core.

    Means and spreads are two arrays that are read at the same speed: two threads of one product each do better
    than each product on two threads, and NumPy leaves the interpreter free meanwhile.
    """
    if size < LARGE or (os.cpu_count() or 1) < 2:
        return first(), second()
    other = _second_thread().submit(second)
    try:
        mine = first()
    finally:
        other.exception()  # waits: nothing goes on behind our back when the first one fails
    return mine, other.result()


def dense(X: Any) -> Floats:
    """`X`, dense or sparse, as a float64 array."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)


def column_means(X: Any, function: Any) -> Floats:
    """Mean over the rows of an elementwise `function` of `X`, one number per column."""
    total = np.zeros(X.shape[1])
    for rows in row_blocks(*X.shape):
        total += np.asarray(function(X[rows].astype(np.float64)).sum(axis=0)).ravel()
    return total / X.shape[0]


def extremes(values: Any) -> tuple[float, float]:
    """Smallest and largest stored entry (NaN if there is one), without a temporary of the size of the data."""
    data = np.atleast_1d(values.data if hasattr(values, "indptr") else values)
    if data.size == 0:
        return 0.0, 0.0
    width = int(np.prod(data.shape[1:]))
    parts = [data[rows] for rows in row_blocks(len(data), width)]
    return float(np.min([part.min() for part in parts])), float(np.max([part.max() for part in parts]))
