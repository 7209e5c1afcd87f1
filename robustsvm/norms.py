"""p-norms of rows, their duals, and the directions in which they are attained."""

from __future__ import annotations

import numpy as np

from robustsvm.blocks import Floats

TINY = 1e-300  # below this a norm counts as zero


def conjugate_exponent(p: float) -> float:
    """The q with 1/p + 1/q = 1; 1 and infinity are each other's.

    Examples
    --------
    >>> conjugate_exponent(1), conjugate_exponent(2), conjugate_exponent(float("inf"))
    (inf, 2.0, 1.0)
    """
    if p == 1:
        return float("inf")
    return 1.0 if np.isinf(p) else p / (p - 1.0)


def row_norms(U: Floats, q: float) -> Floats:
    """The q-norm of each row of `U`, scaled by its largest entry so that nothing over- or underflows."""
    if U.shape[1] == 0:
        return np.zeros(len(U))
    largest = np.abs(U).max(axis=1)
    if np.isinf(q):
        return largest
    relative = np.abs(U) / np.where(largest > 0, largest, 1.0)[:, None]
    if q == 1:
        return np.asarray(largest * relative.sum(axis=1))
    if q == 2:
        return np.asarray(largest * np.sqrt(np.einsum("ij,ij->i", relative, relative)))
    return np.asarray(largest * (relative**q).sum(axis=1) ** (1.0 / q))


def dual_directions(U: Floats, q: float) -> Floats:
    """Row by row a maximiser e of e.u over ||e||_p <= 1, so that e.u = ||u||_q; zero where u = 0.

    For q = infinity the maximiser is not unique when entries tie; the first largest entry is taken.
    """
    E = np.zeros_like(U)
    if U.shape[1] == 0:
        return E
    if np.isinf(q):
        rows, columns = np.arange(len(U)), np.abs(U).argmax(axis=1)
        E[rows, columns] = np.sign(U[rows, columns])
        return E
    if q == 1:
        return np.sign(U)
    norms = row_norms(U, q)
    relative = U / np.where(norms > 0, norms, 1.0)[:, None]
    E = relative if q == 2 else np.asarray(np.sign(relative) * np.abs(relative) ** (q - 1.0))
    # A large power blows rounding up, and a direction longer than 1 would make a false bound.
    return into_unit_ball(E, conjugate_exponent(q))


def into_unit_ball(E: Floats, p: float) -> Floats:
    """Shrink the rows of `E` that leave the unit ball of the p-norm back onto it."""
    norms = row_norms(E, p)
    # A few units in the last place inside, so that rounding cannot leave the ball again.
    return np.asarray(E / np.where(norms > 1.0, norms * (1.0 + 1e-15), 1.0)[:, None])


def smoothed_norms(U: Floats, q: float, nu: float) -> Floats:
    r"""A smooth norm of each row, at least its q-norm and more than that by a multiple of `nu` at most.

    :math:`\sqrt{\|u\|^2 + \nu^2}` for q = 2, :math:`\nu \log \sum_j 2 \cosh(u_j / \nu)` for q = infinity, and for
    other q the q-norm of the entries :math:`\sqrt{u_j^2 + \nu^2}`. With ``nu == 0`` the norm itself.
    """
    if nu == 0 or U.shape[1] == 0:
        return row_norms(U, q)
    if q == 2:
        return np.hypot(row_norms(U, 2), nu)
    if np.isinf(q):
        sizes = np.abs(U)
        largest = sizes.max(axis=1, keepdims=True)
        with np.errstate(under="ignore"):
            total = (np.exp((sizes - largest) / nu) + np.exp((-sizes - largest) / nu)).sum(axis=1)
        return np.asarray(largest[:, 0] + nu * np.log(total))
    return row_norms(np.hypot(U, nu), q)


def smoothed_directions(U: Floats, q: float, nu: float) -> Floats:
    """The gradients of `smoothed_norms`, row by row: vectors inside the unit ball of the p-norm."""
    if nu == 0 or U.shape[1] == 0:
        return dual_directions(U, q)
    if q == 2:
        E = U / np.hypot(row_norms(U, 2), nu)[:, None]
    elif np.isinf(q):
        E = np.sign(U) * np.subtract(*_soft_shares(U, nu))
    else:
        h = np.hypot(U, nu)
        E = (h / row_norms(h, q)[:, None]) ** (q - 1.0) * (U / h)
    return into_unit_ball(np.asarray(E), conjugate_exponent(q))


def norm_curvature(U: Floats, q: float, nu: float) -> tuple[Floats, Floats, Floats]:
    """(E, D, c): directions, and Hessians ``diag(D_k) - c_k E_k E_k.T``, of the smoothed norms of the rows of `U`."""
    E = smoothed_directions(U, q, nu)
    if U.shape[1] == 0:
        return E, np.zeros_like(U), np.zeros(len(U))
    with np.errstate(under="ignore"):
        if q == 2:
            c = 1.0 / np.maximum(np.hypot(row_norms(U, 2), nu), TINY)
            return E, np.repeat(c[:, None], U.shape[1], axis=1), c
        if np.isinf(q):
            return E, np.add(*_soft_shares(U, nu)) / nu, np.full(len(U), 1.0 / nu)
        h = np.hypot(U, nu)
        H = row_norms(h, q)[:, None]
        flat = (h / H) ** (q - 1.0) * (nu / h) ** 2 / h
        return E, flat + (q - 1.0) / H * (h / H) ** (q - 2.0) * (U / h) ** 2, (q - 1.0) / H[:, 0]


def _soft_shares(U: Floats, nu: float) -> tuple[Floats, Floats]:
    """exp(|u_j|/nu) and exp(-|u_j|/nu), each over the sum of both along the row."""
    sizes = np.abs(U)
    largest = sizes.max(axis=1, keepdims=True)
    with np.errstate(under="ignore"):
        up, down = np.exp((sizes - largest) / nu), np.exp((-sizes - largest) / nu)
        total = (up + down).sum(axis=1, keepdims=True)
        return up / total, down / total
