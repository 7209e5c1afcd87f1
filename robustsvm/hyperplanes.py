"""Hyperplanes from wherever they come: a pair, a Solution, a fitted linear model."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustsvm.blocks import Floats
from robustsvm.checks import as_floats, require_finite


def hyperplane_of(model: Any, b: Any = None, *, n_features: int | None = None) -> tuple[Floats, float]:
    """(w, b) of a Solution, of a model with ``coef_`` and ``intercept_``, or of a pair, checked.

    Parameters
    ----------
    model : Solution, fitted linear estimator, (w, b), or w itself
        Where the hyperplane comes from.
    b : float, optional
        The intercept, when `model` is w itself.
    n_features : int, optional
        How many weights there must be.
    """
    if hasattr(model, "coef_") or (hasattr(model, "w") and hasattr(model, "b")):
        if b is not None:
            raise TypeError(f"b comes with the {type(model).__name__}; leave it out (got {b!r}).")
        w, offset = (model.coef_, model.intercept_) if hasattr(model, "coef_") else (model.w, model.b)
    elif hasattr(model, "fit"):
        raise TypeError(
            f"{type(model).__name__} has no coef_: a linear model that has been fitted is needed "
            '(SVC with kernel="linear"; of a Pipeline, its last step).'
        )
    elif isinstance(model, tuple) and len(model) == 2 and np.ndim(model[0]) > 0:
        w, offset = model
    elif isinstance(model, list) or (not isinstance(model, str) and np.ndim(model) > 0):
        w, offset = model, 0.0
    else:
        raise TypeError(
            f"a Solution, a fitted linear estimator, (w, b) or an array w is needed, got {type(model).__name__}."
        )
    w = np.asarray(as_floats(w, "w"), np.float64)
    w = w[0] if w.ndim == 2 and w.shape[0] == 1 else w
    if w.ndim != 1 or (n_features is not None and len(w) != n_features):
        raise ValueError(f"w must have shape ({'d' if n_features is None else n_features},), got {w.shape}.")
    offset = np.asarray(as_floats(offset if b is None else b, "b"), np.float64)
    if offset.size != 1:
        raise ValueError(f"b must be one number, got shape {offset.shape}.")
    require_finite(w, "w")
    require_finite(offset, "b")
    return w, float(offset.item())
