"""Rows and columns by anything NumPy takes, checked before any array is touched."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_rows(key: Any, n: int) -> tuple[Any, int]:
    """A slice or an integer array that selects rows of `n`, and how many it selects."""
    if isinstance(key, tuple):
        if len(key) != 2 or not (key[1] is Ellipsis or (isinstance(key[1], slice) and key[1] == slice(None))):
            raise TypeError("UncertainPoints is indexed by rows; for features use points.columns(columns).")
        key = key[0]
    if key is Ellipsis:
        key = slice(None)
    if key is None or isinstance(key, str):
        raise TypeError(f"UncertainPoints is indexed by rows, got {key!r}.")
    if isinstance(key, slice):
        count = len(range(*key.indices(n)))
    else:
        key = np.asarray(key)
        if key.size == 0 and key.dtype.kind == "f":
            key = key.astype(np.intp)
        if key.dtype.kind not in "iub" or key.ndim > 1 or (key.dtype.kind == "b" and key.ndim == 0):
            raise IndexError(f"rows must be a slice, a mask or integers, got {key.dtype} of shape {key.shape}.")
        key = np.atleast_1d(np.arange(n)[key])
        count = len(key)
    if count == 0:
        raise IndexError("no rows selected: UncertainPoints holds at least one point.")
    return key, count


def as_columns(columns: Any, d: int, names: Any) -> Any:
    """Distinct numbers of the columns asked for: by number, mask, slice, or one of the `names`."""
    if isinstance(columns, slice):
        index = np.arange(d)[columns]
    else:
        asked = np.atleast_1d(np.asarray(columns))
        if asked.ndim > 1 or asked.dtype.kind not in "iubUOf" or (asked.dtype.kind == "f" and asked.size):
            raise TypeError(f"columns must be numbers, names, a mask or a slice, got {columns!r}.")
        if asked.size == 0:
            index = np.empty(0, np.intp)
        elif asked.dtype.kind in "UO":
            known = [] if names is None else names.tolist()
            for name in asked.tolist():
                if name not in known:
                    raise KeyError(f"no feature named {name!r}; known: {', '.join(known) or 'none'}.")
            index = np.array([known.index(name) for name in asked.tolist()], dtype=np.intp)
        else:
            index = np.arange(d)[asked]
    if index.size == 0:
        raise IndexError("no columns selected: UncertainPoints holds at least one feature.")
    if len(np.unique(index)) < len(index):
        raise ValueError("columns must be distinct: copies of a feature share their error, and that is not kept.")
    return index
