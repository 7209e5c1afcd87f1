"""Seeded data with error bars: the library's benchmark problem, and two shapes to look at."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustsvm.blocks import Floats
from robustsvm.points import UncertainPoints
from robustsvm.scalars import as_count, as_flag, as_generator, as_number


def synthetic(
    n: int = 1000,
    d: int = 20,
    *,
    badly_scaled: bool = False,
    rotated: bool = False,
    uncertain: bool = True,
    dtype: Any = np.float64,
    random_state: Any = 0,
) -> tuple[UncertainPoints, Floats]:
    r"""Overlapping half-spaces with a variance for every value.

    :math:`w^* \sim N(0, I)`, :math:`x \sim N(0, I)`, :math:`y = \operatorname{sign}(w^{*\top} x / \sqrt d +
    0.3\,\varepsilon)`, variances log-uniform in [1e-3, 1].

    Parameters
    ----------
    n, d : int
        Numbers of samples and features.
    badly_scaled : bool
        Multiply each column, and its standard deviations, by 10^U(-1.5, 1.5).
    rotated : bool
        Rotate the (scaled) means at random; variances stay log-uniform in [1e-3, 1], one per rotated feature.
    uncertain : bool
        Whether there are error bars at all.
    dtype : float type
        Of means and variances. Filled block by block: no second copy is made.
    random_state : int or Generator
        Seed.

    Returns
    -------
    (UncertainPoints, (n,) array of -1 and +1)

    Examples
    --------
    >>> points, y = synthetic(n=100, d=3)
    >>> points
    UncertainPoints(n=100, d=3, spread=Diagonal, p=2)
    """
    n, d = as_count(n, "n", 2), as_count(d, "d")
    rng = as_generator(random_state)
    direction = rng.standard_normal(d)
    scale = 10.0 ** rng.uniform(-1.5, 1.5, d) if as_flag(badly_scaled, "badly_scaled") else np.ones(d)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0] if as_flag(rotated, "rotated") else None
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype!r}.")
    X, y = np.empty((n, d), dtype), np.empty(n)
    V = np.empty((n, d), dtype) if as_flag(uncertain, "uncertain") else None
    for start in range(0, n, 10_000):
        rows = slice(start, min(n, start + 10_000))
        x = rng.standard_normal((rows.stop - rows.start, d))
        noise = 0.3 * rng.standard_normal(len(x))
        y[rows] = np.where(x @ direction / np.sqrt(d) + noise > 0, 1.0, -1.0)
        X[rows] = x * scale if turn is None else (x * scale) @ turn
        if V is not None:
            V[rows] = 10.0 ** rng.uniform(-3.0, 0.0, x.shape) * (scale**2 if turn is None else 1.0)
    y[: min(2, n)] = [1.0, -1.0][: min(2, n)]
    return UncertainPoints(X, var=V), y


def moons(
    n: int = 200, *, std: float = 0.2, noise: float = 0.1, random_state: Any = 0
) -> tuple[UncertainPoints, Floats]:
    """Two half circles that reach into each other; the upper one is measured worse from left to right.

    Parameters
    ----------
    n : int
        Number of samples.
    std : float
        Mean error bar; a sample's grows from 0 to twice that along the moon it lies on.
    noise : float
        Scatter of the means about the moons, besides the error bars.
    random_state : int or Generator
        Seed.

    Returns
    -------
    (UncertainPoints, (n,) array of -1 and +1)
    """
    rng, y, along = _start(n, random_state)
    angle = np.pi * along
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.column_stack([1.0 - np.cos(angle), 0.5 - np.sin(angle)])
    bars = 2.0 * as_number(std, "std", at_least=0.0) * along
    return _measured(np.where(y[:, None] > 0, upper, lower), bars, as_number(noise, "noise", at_least=0.0), rng), y


def rings(
    n: int = 200, *, std: float = 0.2, noise: float = 0.1, random_state: Any = 0
) -> tuple[UncertainPoints, Floats]:
    """A disc of radius 1 inside a ring of radius 2; error bars grow with the angle.

    The parameters are those of `moons`. No line separates them: a picture for nonlinear maps.
    """
    rng, y, along = _start(n, random_state)
    radius = np.where(y > 0, np.sqrt(rng.random(len(y))), 2.0)
    angle = 2.0 * np.pi * along
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    bars = 2.0 * as_number(std, "std", at_least=0.0) * along
    return _measured(X, bars, as_number(noise, "noise", at_least=0.0), rng), y


def _start(n: int, random_state: Any) -> tuple[np.random.Generator, Floats, Floats]:
    n = as_count(n, "n", 2)
    rng = as_generator(random_state)
    return rng, np.where(np.arange(n) % 2 == 0, 1.0, -1.0), rng.random(n)


def _measured(X: Floats, bars: Floats, noise: float, rng: np.random.Generator) -> UncertainPoints:
    """Means drawn within their error bars and with a scatter of their own."""
    return UncertainPoints(X + np.hypot(bars, noise)[:, None] * rng.standard_normal(X.shape), std=bars)
