r"""Cone forms: the spread a hyperplane sees, as constraints, one cone per atom and never a Python loop.

`norm_epigraph` gives variables t_k >= ||B_k^T w||_q and, after a solve, the directions e_k that
the solver's multipliers hold. The directions are what a certificate needs where the norm has a
kink (B_k^T w = 0, zero entries for q = 1, ties for q = infinity): there no function of w finds them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from robustsvm.blocks import Floats
from robustsvm.spreads import Diagonal, Isotropic, Spread


@dataclass(frozen=True)
class NormEpigraph:
    """t >= the norms, the constraints that say so, and the directions their multipliers hold."""

    t: Any
    constraints: list[Any]
    directions: Callable[[], Floats]


def norm_epigraph(spread: Spread, omega: Any, units: Floats, q: float) -> NormEpigraph:
    """Epigraph of w -> ||B_k^T w||_q over all atoms k, where w = omega / units."""
    if q == 1 and isinstance(spread, (Isotropic, Diagonal)):
        return _weighted_absolute(spread, omega, units)
    B = spread.projection_matrix() @ sp.diags_array(1.0 / units)
    # Largest entry 1, whatever the units of the atoms: the norms are then of order one like everything else.
    size = float(np.abs(B.data).max(initial=0.0)) or 1.0
    shape, U = (spread.n_atoms, spread.rank), (B / size) @ omega
    if q == 2:
        unit = _second_order(U, shape)
    elif q == 1:
        unit = _absolute_sum(U, shape)
    elif np.isinf(q):
        unit = _largest(U, shape)
    else:
        unit = _power(U, shape, q)
    return replace(unit, t=size * unit.t)


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    return np.asarray(numerator / np.where(denominator > 0, denominator, 1.0))


def _second_order(U: Any, size: tuple[int, int]) -> NormEpigraph:
    t = cp.Variable(size[0], name="t")
    cone = cp.SOC(t, cp.reshape(U, size, order="C"), axis=1)

    def directions() -> Floats:
        # Only the vector part of a second-order multiplier carries the minus sign.
        height, vector = (np.asarray(part) for part in cone.dual_value)
        return _divide(-vector.reshape(size), height.reshape(-1, 1))

    return NormEpigraph(t, [cone], directions)


def _two_sided(U: Any, bound: Any, size: tuple[int, int]) -> tuple[list[Any], Callable[[], tuple[Floats, Floats]]]:
    """-bound <= U <= bound, with a reader of both multipliers."""
    upper, lower = bound >= U, bound >= -U

    def multipliers() -> tuple[Floats, Floats]:
        return np.maximum(upper.dual_value, 0.0).reshape(size), np.maximum(lower.dual_value, 0.0).reshape(size)

    return [upper, lower], multipliers


def _weighted_absolute(spread: Spread, omega: Any, units: Floats) -> NormEpigraph:
    """Q = 1 with axis-aligned atoms: ||diag(std) w||_1 = std.|w|, so d variables serve all atoms."""
    d = spread.n_features
    h = cp.Variable(d, name="h")
    constraints, multipliers = _two_sided(omega, h, (1, d))
    std = spread.axis_lengths() / units

    def directions() -> Floats:
        above, below = multipliers()
        return np.repeat(_divide(above - below, above + below), spread.n_atoms, axis=0)

    return NormEpigraph(std @ h, constraints, directions)


def _absolute_sum(U: Any, size: tuple[int, int]) -> NormEpigraph:
    T = cp.Variable(size[0] * size[1], name="T")
    constraints, multipliers = _two_sided(U, T, size)

    def directions() -> Floats:
        above, below = multipliers()
        return _divide(above - below, above + below)

    return NormEpigraph(cp.sum(cp.reshape(T, size, order="C"), axis=1), constraints, directions)


def _largest(U: Any, size: tuple[int, int]) -> NormEpigraph:
    t = cp.Variable(size[0], name="t")
    repeat = sp.kron(sp.eye_array(size[0]), np.ones((size[1], 1)), format="csr")
    constraints, multipliers = _two_sided(U, repeat @ t, size)

    def directions() -> Floats:
        above, below = multipliers()
        return _divide(above - below, (above + below).sum(axis=1, keepdims=True))

    return NormEpigraph(t, constraints, directions)


def _power(U: Any, size: tuple[int, int], q: float) -> NormEpigraph:
    """|u_j| <= tau_j^(1/q) t^(1-1/q) for every j, and sum_j tau_j <= t."""
    t = cp.Variable(size[0], name="t")
    tau = cp.Variable(size[0] * size[1], name="tau")
    repeat = sp.kron(sp.eye_array(size[0]), np.ones((size[1], 1)), format="csr")
    cone = cp.PowCone3D(tau, repeat @ t, U, 1.0 / q)
    total = repeat.T @ tau <= t

    def directions() -> Floats:
        _, side, vector = (np.asarray(part).reshape(size) for part in cone.dual_value)
        weight = np.maximum(total.dual_value, 0.0) + side.sum(axis=1)
        return _divide(-vector, weight[:, None])

    return NormEpigraph(t, [cone, total], directions)
