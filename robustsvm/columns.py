"""One look at the columns of the means: how large they are, and where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robustsvm.blocks import Floats, dense, row_blocks

FOLD = 64  # rows put side by side, so that a maximum down the columns runs along memory


@dataclass(frozen=True)
class ColumnScan:
    """Sums over the rows seen so far, column by column.

    Attributes
    ----------
    count : int
        Number of rows.
    total, squares, largest : (d,) arrays
        Sum, sum of squares, and largest absolute value.
    """

    count: int
    total: Floats
    squares: Floats
    largest: Floats

    @property
    def means(self) -> Floats:
        """Mean of each column."""
        return self.total / self.count

    @property
    def sizes(self) -> Floats:
        """Root mean square of each column: at least its mean absolute value."""
        return np.sqrt(self.squares / self.count)

    @property
    def variances(self) -> Floats:
        """Variance of each column, 0 where rounding leaves nothing of it."""
        return np.maximum(self.squares / self.count - self.means**2, 0.0)

    def __add__(self, other: ColumnScan) -> ColumnScan:
        return ColumnScan(
            self.count + other.count,
            self.total + other.total,
            self.squares + other.squares,
            np.maximum(self.largest, other.largest),
        )


def scan_columns(X: Any, shift: Floats | None = None) -> ColumnScan:
    """Scan `X`, dense or CSR, less `shift`, a block at a time; CSR takes no shift."""
    if hasattr(X, "indptr"):
        data = X.astype(np.float64)
        largest = dense(abs(data).max(axis=0)).ravel()
        return ColumnScan(X.shape[0], np.asarray(data.sum(axis=0)), np.asarray((data**2).sum(axis=0)), largest)
    n, d = X.shape
    total, squares, largest = np.zeros(d), np.zeros(d), np.zeros(d)
    for rows in row_blocks(n, d):
        block = np.asarray(X[rows], np.float64)
        block = block if shift is None else block - shift
        total += np.ones(len(block)) @ block
        squares += np.einsum("ij,ij->j", block, block)
        largest = np.maximum(largest, _largest(block))
    return ColumnScan(n, total, squares, largest)


def column_maxima(values: Any) -> Floats:
    """The largest entry of each column of a dense array, a block at a time."""
    parts = [_maxima(np.asarray(values[rows])) for rows in row_blocks(*values.shape)]
    return np.asarray(np.max(parts, axis=0), np.float64)


def _largest(block: Floats) -> Floats:
    return np.maximum(_maxima(block), -_maxima(block, np.minimum))


def _maxima(block: Any, which: np.ufunc = np.maximum) -> Floats:
    n, d = block.shape
    folded = n - n % FOLD
    if not block.flags.c_contiguous or folded == 0:
        return np.asarray(which.reduce(block, axis=0))
    wide = which.reduce(block[:folded].reshape(-1, FOLD * d), axis=0).reshape(FOLD, d)
    return np.asarray(which.reduce(np.concatenate([wide, block[folded:]]), axis=0))
