r"""Second derivatives of a smoothed problem, from the few samples that carry them.

With k, r the curvature of a sample's loss and e, D, c that of its norm, the Hessian of the risk is

.. math:: \frac1n \sum_i c_i k_i h_i h_i^\top + \frac1n \sum_i c_i v_i \rho_i
          B (\operatorname{diag} D - c\, e e^\top) B^\top, \qquad h_i = r_i A_i e_i - y_i x_i .

Only samples near the kink have k > 0, and fewer the less the smoothing. Where there are still more than a
budget allows, they are drawn in proportion to their weights (systematic sampling, seeded): Newton's
steps then contract by about the square root of features over samples, which is all they are asked to do.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from robustsvm.blocks import Floats, dense, matvec, rmatvec, row_blocks
from robustsvm.norms import TINY, norm_curvature, smoothed_directions
from robustsvm.smoothing import View

DENSE_FEATURES = 2000  # up to here the Hessian is a matrix; beyond, a product with vectors
DENSE_ROWS = 2000  # up to here the matrix of their products preconditions the latter
GRAM_COST = 1.0 / 40.0  # passes that a Gram matrix of all samples costs per feature (measured)


def drawn(weights: Floats, budget: int, rng: np.random.Generator) -> tuple[Any, Floats]:
    """Indices and weights that stand for `weights` in a sum: all that count, or a systematic sample of them."""
    active = np.flatnonzero(weights > 1e-12 * float(weights.max(initial=0.0)))
    if len(active) <= budget:
        return active, weights[active]
    total = np.cumsum(weights)
    ticks = (np.arange(budget) + rng.random()) * (total[-1] / budget)
    index, times = np.unique(np.searchsorted(total, ticks).clip(0, len(weights) - 1), return_counts=True)
    return index, times * (total[-1] / budget)


class RiskCurvature:
    """The Hessian of the smoothed risk in w, its intercept minimised out.

    Parameters
    ----------
    view : View
        Where it is taken.
    budget : int
        How many samples, and how many atoms of the spread, it may be made of.
    rng : Generator
        Draws them.
    damping : float
        Mean curvature to add, as if of losses that are not near the kink yet: times the mean squares of the features.
    keep : bool
        Whether to keep the rows h sqrt(k).
    """

    def __init__(
        self, view: View, budget: int, rng: np.random.Generator, damping: float = 0.0, keep: bool = False
    ) -> None:
        problem = view.problem
        self.w, self.q, self.nu, self.spread = view.w, problem.points.q, view.nu, problem.points.spread
        k, r = problem.loss.curvature(view.m, view.s, view.mu)
        share = problem.weights / len(problem.y)
        weights = share * k
        rows, self.k = drawn(weights, budget, rng)
        self.thinned = problem.weights[rows] * k[rows] / self.k  # how many samples each row drawn stands against
        omega = np.zeros(0) if self.spread.is_zero else self.spread.gather(share * view.v)
        self.atoms, self.omega = drawn(omega, budget, rng)
        self.X, self.y, self.r = problem.points.means[rows], problem.y[rows], r[rows]
        self.offset = problem.offset
        self.radii, self.atom_of = self.spread.radii()[rows], self.spread.atom_of()[rows]
        self.fit_intercept = problem.fit_intercept and float(self.k.sum()) > 0
        self.d = len(self.w)
        columns = problem.columns
        self.added = damping * (columns.variances if problem.fit_intercept else columns.squares / columns.count)
        self.share = 0.5 * (len(rows) / len(problem.y) + len(self.atoms) / self.spread.n_atoms)
        self.passes = self.share * (GRAM_COST * self.d if self.d <= DENSE_FEATURES else 1.0)
        self.H: Floats | None = None
        self.tie: Floats | None = None
        self.h = np.zeros((0, self.d))
        if self.d <= DENSE_FEATURES:
            self.H, self.tie = self._matrix(keep)
        elif self.fit_intercept:
            self.tie = self._rows_times(-self.y * self.k)

    def _matrix(self, keep: bool) -> tuple[Floats, Floats]:
        """H and how it ties w to b, a block of rows at a time; `keep` the rows for `h`."""
        H, tie, root = np.zeros((self.d, self.d)), np.zeros(self.d), np.sqrt(self.k)
        kept = []
        for rows in row_blocks(len(root), self.d):
            h = dense(self.X[rows]) if self.offset is None else dense(self.X[rows]) - self.offset
            h = h * (-self.y[rows] * root[rows])[:, None]
            if self.r[rows].any():
                used, inverse = np.unique(self.atom_of[rows], return_inverse=True)
                images = self.spread.images(self.w, self.q, self.nu, used)
                images = images if len(used) == len(h) else images[inverse]
                images *= (self.r[rows] * self.radii[rows] * root[rows])[:, None]
                h += images
            H += h.T @ h
            tie += h.T @ (-self.y[rows] * root[rows])
            if keep:
                kept.append(h)
        self.h = np.concatenate(kept) if kept else self.h
        if self.fit_intercept:
            H -= np.outer(tie, tie) / self.k.sum()
        if len(self.atoms):
            H += self.spread.norm_hessian(self.w, self.q, self.nu, self.atoms, self.omega)
        return H + np.diag(self.added), tie

    @property
    def follow(self) -> Floats:
        """Minus the gradient of the best b in w: the place where the decision moves with b alone."""
        if not self.fit_intercept or self.tie is None:
            return np.zeros(self.d)
        return self.tie / float(self.k.sum()) + (0.0 if self.offset is None else self.offset)

    def times(self, u: Floats) -> Floats:
        """H u."""
        if self.H is not None:
            return np.asarray(self.H @ u)
        self.passes += self.share
        along = -self.y * matvec(self.X, u, self.offset)
        if self.r.any():
            used, inverse, E = self._directions
            along += self.r * self.radii * np.einsum("kr,kr->k", E, self.spread._project(u, used))[inverse]
        weighted = self.k * along
        if self.fit_intercept:
            weighted -= self.k * self.y * (float(weighted @ self.y) / float(self.k.sum()))
        out = self._rows_times(weighted)
        if len(self.atoms):
            P = self.spread._project(u, self.atoms)
            E, D, c = self._norms
            bent = D * P - (c * np.einsum("kr,kr->k", E, P))[:, None] * E
            out += self.spread._lift(self.omega[:, None] * bent, self.atoms)
        return out + self.added * u

    @cached_property
    def _directions(self) -> tuple[Any, Any, Floats]:
        """Which atoms the rows use, which of those each, and the directions of their norms at w."""
        used, inverse = np.unique(self.atom_of, return_inverse=True)
        return used, inverse, smoothed_directions(self.spread._project(self.w, used), self.q, self.nu)

    @cached_property
    def _norms(self) -> tuple[Floats, Floats, Floats]:
        """Directions and curvatures of the norms of `atoms` at w."""
        return norm_curvature(self.spread._project(self.w, self.atoms), self.q, self.nu)

    def _rows_times(self, weighted: Floats) -> Floats:
        """``sum_i weighted_i h_i`` over the rows drawn."""
        out = rmatvec(self.X, -self.y * weighted, self.offset)
        if self.r.any():
            used, inverse, E = self._directions
            onto = np.bincount(inverse, self.r * self.radii * weighted, minlength=len(used))
            out += self.spread._lift(onto[:, None] * E, used)
        return out

    def solve(self, theta: float, g: Floats) -> Floats:
        """(H + theta I)^{-1} g, by Cholesky or by conjugate gradients."""
        if self.H is not None:
            return solve_scaled(self.H + theta * np.eye(self.d), g)
        return _conjugate_gradients(lambda u: self.times(u) + theta * u, g, self._preconditioner(theta))

    def _preconditioner(self, theta: float) -> Any:
        """The inverse of a diagonal and the rows' part of H: exact but for the spread, by the matrix of the rows."""
        D = theta + self.added + float(self.omega.sum()) * self.spread.mean_variances()
        X = self.X if self.offset is None else self.X - self.offset
        diagonal = D + rmatvec(X * X, self.k)
        if not (0 < len(self.k) <= DENSE_ROWS and float(self.k.min()) > 1e-100):
            return lambda r: r / diagonal
        try:
            factor = cho_factor(dense((X * (1.0 / D)) @ X.T) + np.diag(1.0 / self.k), lower=True)
        except (LinAlgError, ValueError):  # rows so long or alike that rounding hides what tells them apart
            return lambda r: r / diagonal
        return lambda r: r / D - rmatvec(X, cho_solve(factor, matvec(X, r / D))) / D


def solve_scaled(H: Floats, g: Floats) -> Floats:
    """H^{-1} g for a positive definite H, whatever the units of its rows; nearly so where rounding left it singular."""
    scale = 1.0 / np.sqrt(np.maximum(np.einsum("ii->i", H), TINY))
    scaled = H * scale[:, None] * scale
    for jitter in (0.0, 1e-15, 1e-13, 1e-11, 1e-9):
        try:
            factor = cho_factor(scaled + jitter * len(H) * np.eye(len(H)), lower=True)
        except LinAlgError:
            continue
        return np.asarray((scale * cho_solve(factor, (scale * g.T).T).T).T)
    return np.asarray((scale * np.linalg.lstsq(scaled, (scale * g.T).T, rcond=1e-8)[0].T).T)


def _conjugate_gradients(product: Any, g: Floats, inverse: Any, most: int = 200, rtol: float = 1e-3) -> Floats:
    """A truncated solve, preconditioned by `inverse`: any of its iterates is a descent direction."""
    u, residual = np.zeros_like(g), g.copy()
    direction = inverse(residual)
    square = float(residual @ direction)
    stop = rtol**2 * square
    for _ in range(most):
        if square <= stop:
            break
        image = product(direction)
        step = square / float(direction @ image)
        u, residual = u + step * direction, residual - step * image
        ahead = inverse(residual)
        last, square = square, float(residual @ ahead)
        direction = ahead + (square / last) * direction
    return u
