"""Spreads with correlations: low-rank factors and covariance matrices."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from robustsvm.atoms import Spread
from robustsvm.blocks import Floats

FEW_COLUMNS = 4  # up to here one product of matrices, r times too large, beats many small ones


class Factor(Spread):
    """A low-rank factor per atom, shape (K, d, r): covariance F_k F_k^T, any norm."""

    kind = "factor"

    def __init__(
        self, n_points: int, n_features: int, values: Any = None, group: Any = None, scale: Any = None
    ) -> None:
        super().__init__(n_points, n_features, values, group, scale)
        self.rank = values.shape[2]

    def _project(self, w: Floats, rows: Any) -> Floats:
        F = self._factor(rows)
        k, d, r = F.shape
        if r > FEW_COLUMNS:
            return np.asarray(w @ F)
        return np.asarray(F.reshape(k, d * r) @ np.kron(w[:, None], np.eye(r)))

    def _lift(self, E: Floats, rows: Any) -> Floats:
        F = self._factor(rows)
        k, d, r = F.shape
        if r > FEW_COLUMNS:
            return np.asarray(F.transpose(1, 0, 2).reshape(d, k * r) @ E.ravel())
        return np.einsum("drr->d", (F.reshape(k, d * r).T @ E).reshape(d, r, r))

    def _factor(self, rows: Any) -> Floats:
        return np.asarray(self.values[rows], np.float64)

    def _variances(self, rows: Any) -> Floats:
        return np.asarray((self._factor(rows) ** 2).sum(axis=2))

    def columns(self, columns: Any) -> Factor:
        """Those rows of the factors."""
        values = self.values[:, columns]
        return Factor(self.n_points, values.shape[1], values, self.group, self.scale)


def correlation_form(covs: Floats) -> tuple[Floats, Floats]:
    """Standard deviations and correlations of covariances: ``cov == std * correlation * std.T``."""
    std = np.sqrt(np.maximum(np.einsum("kdd->kd", covs), 0.0))
    unit = np.where(std > 0, std, 1.0)
    return std, covs / unit[:, :, None] / unit[:, None, :]


def _upper_roots(correlations: Floats) -> Floats:
    """R with C = R^T R for each matrix: Cholesky's, or the symmetric one where C is singular."""
    try:
        return np.asarray(np.linalg.cholesky(correlations, upper=True), np.float64)
    except np.linalg.LinAlgError:
        if len(correlations) > 1:  # which of them it was decides each matrix by itself, whatever its neighbours
            half = len(correlations) // 2
            return np.concatenate([_upper_roots(correlations[:half]), _upper_roots(correlations[half:])])
    eigenvalues, vectors = np.linalg.eigh(correlations)
    scaled = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))[:, None, :]
    return np.asarray(scaled @ vectors.transpose(0, 2, 1))


class Full(Factor):
    """A covariance matrix per atom, used through a square root, so p = 2 only.

    The root is computed once, when first needed, and everything is computed from it: a square root
    taken here and a quadratic form there differ by the square root of the rounding error where a
    covariance is singular, and lower bounds built from one would not hold for the other.
    """

    kind = "full"

    @cached_property
    def _roots(self) -> Floats:
        """R_k with Sigma_k = R_k^T R_k, so that B_k = R_k^T."""
        # Standard deviations times a root of the correlations. A function of the covariance alone, so a
        # dual vector found today means the same tomorrow; and in the root of the covariance itself rounding,
        # relative to its largest entry, would give features in small units a variance they do not have.
        roots = np.empty(self.values.shape)
        for rows in self._blocks():
            std, correlations = correlation_form(np.asarray(self.values[rows], np.float64))
            np.einsum("kdd->kd", correlations)[std == 0] = 1.0
            roots[rows] = _upper_roots(correlations) * std[:, None, :]
        return roots

    def _factor(self, rows: Any) -> Floats:
        return np.asarray(self._roots[rows].transpose(0, 2, 1))

    def _project(self, w: Floats, rows: Any) -> Floats:
        R = self._roots[rows]
        return np.asarray((R.reshape(-1, len(w)) @ w).reshape(R.shape[:2]))

    def _lift(self, E: Floats, rows: Any) -> Floats:
        return np.asarray(E.ravel() @ self._roots[rows].reshape(-1, self.n_features))

    def _image(self, E: Floats, rows: Any) -> Floats:
        return np.einsum("krd,kr->kd", self._roots[rows], E)

    def curved(self, W: Floats, atoms: Any) -> Floats:
        """One product of stacked roots."""
        R = self._roots[atoms].reshape(-1, self.n_features)
        return np.asarray((R * W.reshape(-1, 1)).T @ R)

    def _with(self, n_points: int, values: Any, group: Any, scale: Any) -> Self:
        new = super()._with(n_points, values, group, scale)
        if values is self.values and "_roots" in self.__dict__:
            new.__dict__["_roots"] = self._roots
        return new

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_roots"}

    def columns(self, columns: Any) -> Full:
        """Marginal covariances."""
        values = self.values[:, columns][:, :, columns]
        return Full(self.n_points, values.shape[1], values, self.group, self.scale)
