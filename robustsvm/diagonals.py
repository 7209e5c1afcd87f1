"""Spreads along the axes: one error bar for all features, one for each, or variances."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from robustsvm.atoms import Spread
from robustsvm.blocks import Floats, row_blocks
from robustsvm.columns import column_maxima
from robustsvm.norms import TINY


class Isotropic(Spread):
    """The same error bar in every direction: A_i = scale_i I, one atom (the identity) for all."""

    kind = "isotropic"

    def _project(self, w: Floats, rows: Any) -> Floats:
        return w[None, :]

    def _lift(self, E: Floats, rows: Any) -> Floats:
        return np.asarray(E[0])

    def _factor(self, rows: Any) -> Floats:
        return np.eye(self.n_features)[None]

    def _variances(self, rows: Any) -> Floats:
        return np.ones((1, self.n_features))

    def _image(self, E: Floats, rows: Any) -> Floats:
        return E

    def curved(self, W: Floats, atoms: Any) -> Floats:
        """Diagonal."""
        return np.diag(W.sum(axis=0))

    def weighted_covariance(self, weights: Floats) -> Floats:
        """A multiple of the identity."""
        return np.eye(self.n_features) * self.gather(weights * self.radii())[0]

    def projection_matrix(self) -> sp.csr_array:
        """The identity."""
        return sp.csr_array(sp.eye_array(self.n_features))

    def columns(self, columns: Any) -> Isotropic:
        """A coordinate projection of a p-norm ball is a p-norm ball of the same radius."""
        return Isotropic(self.n_points, len(np.arange(self.n_features)[columns]), None, None, self.scale)


class Diagonal(Spread):
    """An error bar for each feature: B_k = diag(std_k). Subclass `DiagonalVariance` stores variances."""

    kind = "diagonal"

    def _as_std(self, stored: Any) -> Floats:
        """What is stored, as standard deviations in float64."""
        return np.asarray(stored, np.float64)

    def _std(self, rows: Any) -> Floats:
        return self._as_std(self.values[rows])

    def _project(self, w: Floats, rows: Any) -> Floats:
        return self._std(rows) * w

    def _lift(self, E: Floats, rows: Any) -> Floats:
        return np.einsum("kd,kd->d", self._std(rows), E)

    def _seen(self, w: Floats, q: float, nu: float, rows: Any) -> Floats:
        if q != 2:
            return super()._seen(w, q, nu, rows)
        size = float(np.abs(w).max())  # squares of w / size neither overflow nor vanish
        if size == 0:
            return np.full(rows.stop - rows.start, nu)
        return np.hypot(size * np.sqrt(self._variances(rows) @ (w / size) ** 2), nu)

    def _aligned(self, w: Floats, omega: Floats, q: float, nu: float, rows: Any) -> Floats:
        if q != 2:
            return super()._aligned(w, omega, q, nu, rows)
        # e_k = std_k w / norm_k; a hair shorter, because a direction longer than 1 would make a false bound.
        norms = self._seen(w, 2.0, nu, rows) * (1.0 + 1e-15 * (len(w) + 8))
        return w * ((omega / np.where(norms > 1e-290, norms, np.inf)) @ self._variances(rows))

    def largest_deviations(self) -> Floats:
        """The largest stored error bar of each feature, times the largest radius, shape (d,)."""
        return np.asarray(self._as_std(column_maxima(self.values)) * float(self.radii().max()))

    def images(self, w: Floats, q: float, nu: float, atoms: Any) -> Floats:
        """``var_k w / norm_k`` for q = 2."""
        if q != 2:
            return super().images(w, q, nu, atoms)
        images = self._variances(atoms) * w
        images /= np.sqrt(np.maximum(images @ w + nu**2, TINY))[:, None]
        return images

    def norm_hessian(self, w: Floats, q: float, nu: float, atoms: Any, weights: Floats) -> Floats:
        """Diagonal less a Gram matrix, for q = 2."""
        if q != 2:
            return super().norm_hessian(w, q, nu, atoms, weights)
        V = np.array(self._variances(atoms))
        squares = np.maximum(V @ w**2 + nu**2, TINY)
        bent = weights / np.sqrt(squares)
        straight = np.diag(bent @ V)
        V *= np.sqrt(bent / squares)[:, None]
        V *= w
        return straight - V.T @ V

    def curved(self, W: Floats, atoms: Any) -> Floats:
        """Diagonal, without building the diagonal matrices."""
        return np.diag(np.einsum("kd,kd->d", self._variances(atoms), W))

    def _factor(self, rows: Any) -> Floats:
        std = self._std(rows)
        out = np.zeros((*std.shape, self.n_features))
        np.einsum("kdd->kd", out)[:] = std
        return out

    def _variances(self, rows: Any) -> Floats:
        return self._std(rows) ** 2

    def _image(self, E: Floats, rows: Any) -> Floats:
        return self._std(rows) * E

    def weighted_covariance(self, weights: Floats) -> Floats:
        """Diagonal, without building the diagonal matrices."""
        omega = self.gather(weights * self.radii())
        return np.diag(np.sum([omega[rows] @ self._variances(rows) for rows in self._blocks()], axis=0))

    def projection_matrix(self) -> sp.csr_array:
        """K diagonal blocks, K * d entries."""
        std = np.concatenate([self._std(rows) for rows in self._blocks()])
        columns = np.tile(np.arange(self.n_features), self.n_atoms)
        return sp.csr_array((std.ravel(), columns, np.arange(std.size + 1)), shape=(std.size, self.n_features))

    def _blocks(self) -> list[slice]:
        return list(row_blocks(self.n_atoms, self.n_features))

    def columns(self, columns: Any) -> Spread:
        """Keep those error bars."""
        values = self.values[:, columns]
        return type(self)(self.n_points, values.shape[1], values, self.group, self.scale)


class DiagonalVariance(Diagonal):
    """`Diagonal`, stored as variances as the user gave them: squares of w then need no temporary."""

    kind = "diagonal_variance"

    def _as_std(self, stored: Any) -> Floats:
        return np.sqrt(np.asarray(stored, np.float64))

    def _variances(self, rows: Any) -> Floats:
        return np.asarray(self.values[rows], np.float64)
