"""p-norms of rows, their duals, and the directions in which they are attained."""

from __future__ import annotations

import numpy as np

from robustsvm.blocks import Floats


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
