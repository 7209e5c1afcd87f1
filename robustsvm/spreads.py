"""The kinds of spread: certain, isotropic, error bars, covariances, low-rank factors."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from robustsvm.atoms import Spread
from robustsvm.blocks import Floats, row_blocks

__all__ = [
    "KINDS",
    "Certain",
    "Diagonal",
    "DiagonalVariance",
    "Factor",
    "Full",
    "Isotropic",
    "Spread",
    "concatenated",
    "correlation_form",
]


class Certain(Spread):
    """No uncertainty: one atom without columns."""

    kind = "certain"

    def __init__(
        self, n_points: int, n_features: int, values: Any = None, group: Any = None, scale: Any = None
    ) -> None:
        super().__init__(n_points, n_features)
        self.rank = 0

    def radii(self) -> Floats:
        """Zero: among other points, certain ones are those of radius 0."""
        return np.zeros(self.n_points)

    def expand(self, per_atom: Floats) -> Floats:
        """Nothing is seen of a certain point."""
        return np.zeros(self.n_points)

    def gather(self, per_point: Floats) -> Floats:
        """Nothing to sum."""
        return np.zeros(1)

    def _project(self, w: Floats, rows: slice) -> Floats:
        return np.zeros((1, 0))

    def _lift(self, E: Floats, rows: slice) -> Floats:
        return np.zeros(self.n_features)

    def _factor(self, rows: slice) -> Floats:
        return np.zeros((1, self.n_features, 0))

    def _variances(self, rows: slice) -> Floats:
        return np.zeros((1, self.n_features))

    def scaled(self, radius: Any) -> Certain:
        """Nothing to scale."""
        return self

    def columns(self, columns: Any) -> Certain:
        """Certain features stay certain."""
        return Certain(self.n_points, len(np.arange(self.n_features)[columns]))


class Isotropic(Spread):
    """The same error bar in every direction: A_i = scale_i I, one atom (the identity) for all."""

    kind = "isotropic"

    def _project(self, w: Floats, rows: slice) -> Floats:
        return w[None, :]

    def _lift(self, E: Floats, rows: slice) -> Floats:
        return np.asarray(E[0])

    def _factor(self, rows: slice) -> Floats:
        return np.eye(self.n_features)[None]

    def _variances(self, rows: slice) -> Floats:
        return np.ones((1, self.n_features))

    def _image(self, E: Floats, rows: Any) -> Floats:
        return E

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

    def _std(self, rows: slice) -> Floats:
        return np.asarray(self.values[rows], np.float64)

    def _project(self, w: Floats, rows: slice) -> Floats:
        return self._std(rows) * w

    def _lift(self, E: Floats, rows: slice) -> Floats:
        return np.einsum("kd,kd->d", self._std(rows), E)

    def _factor(self, rows: slice) -> Floats:
        std = self._std(rows)
        out = np.zeros((*std.shape, self.n_features))
        np.einsum("kdd->kd", out)[:] = std
        return out

    def _variances(self, rows: slice) -> Floats:
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

    def _std(self, rows: slice) -> Floats:
        return np.asarray(np.sqrt(self._variances(rows)))

    def _variances(self, rows: slice) -> Floats:
        return np.asarray(self.values[rows], np.float64)


class Factor(Spread):
    """A low-rank factor per atom, shape (K, d, r): covariance F_k F_k^T, any norm."""

    kind = "factor"

    def __init__(
        self, n_points: int, n_features: int, values: Any = None, group: Any = None, scale: Any = None
    ) -> None:
        super().__init__(n_points, n_features, values, group, scale)
        self.rank = values.shape[2]

    def _project(self, w: Floats, rows: slice) -> Floats:
        return np.einsum("kdr,d->kr", self._factor(rows), w)

    def _lift(self, E: Floats, rows: slice) -> Floats:
        return np.einsum("kdr,kr->d", self._factor(rows), E)

    def _factor(self, rows: slice) -> Floats:
        return np.asarray(self.values[rows], np.float64)

    def _variances(self, rows: slice) -> Floats:
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


class Full(Factor):
    """A covariance matrix per atom, used through a square root, so p = 2 only.

    The root is computed once, when first needed, and everything is computed from it: a square root
    taken here and a quadratic form there differ by the square root of the rounding error where a
    covariance is singular, and lower bounds built from one would not hold for the other.
    """

    kind = "full"

    @cached_property
    def _roots(self) -> Floats:
        # Standard deviations times the symmetric root of the correlations. A function of the covariance
        # alone, so a dual vector found today means the same tomorrow on another machine; and in the root
        # of the covariance itself rounding, relative to its largest entry, would give features in small
        # units a variance they do not have.
        roots = np.empty(self.values.shape)
        for rows in self._blocks():
            std, correlations = correlation_form(np.asarray(self.values[rows], np.float64))
            eigenvalues, vectors = np.linalg.eigh(correlations)
            scaled = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))[:, None, :]
            roots[rows] = std[:, :, None] * (scaled @ vectors.transpose(0, 2, 1))
        return roots

    def _factor(self, rows: Any) -> Floats:
        return self._roots[rows]

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


KINDS: dict[str, type[Spread]] = {
    kind.kind: kind for kind in (Certain, Isotropic, Diagonal, DiagonalVariance, Full, Factor)
}


def concatenated(spreads: list[Spread]) -> Spread:
    """One spread for all; atoms are stacked, groups shifted, certain points get radius 0."""
    n, d = sum(spread.n_points for spread in spreads), spreads[0].n_features
    uncertain = [spread for spread in spreads if not isinstance(spread, Certain)]
    if not uncertain:
        return Certain(n, d)
    kinds = {type(spread) for spread in uncertain}
    scale = np.concatenate([spread.radii() for spread in spreads])
    if kinds == {Isotropic}:
        return Isotropic(n, d, None, None, scale)
    others = kinds - {Isotropic}
    if others == {Diagonal, DiagonalVariance}:
        others = {Diagonal}
    if len(others) > 1 or (Isotropic in kinds and Factor in others):
        names = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(f"cannot concatenate {names} spreads without expanding them; bring both to one form first.")
    kind = others.pop()
    unit = np.eye(d)[None] if kind is Full else np.ones((1, d))
    atoms: list[Any] = []
    index: list[Any] = []
    offset = 0
    for spread in spreads:
        if isinstance(spread, Certain):
            index.append(np.zeros(spread.n_points, np.intp))
            continue
        values = unit if isinstance(spread, Isotropic) else spread.values
        if kind is Diagonal and isinstance(spread, DiagonalVariance):
            values = np.sqrt(np.asarray(values, np.float64))
        if atoms and kind is Factor and values.shape[2] != atoms[0].shape[2]:
            raise TypeError(f"cannot concatenate factors of rank {atoms[0].shape[2]} and {values.shape[2]}.")
        atoms.append(values)
        index.append(offset + spread.atom_of())
        offset += len(values)
    group = np.concatenate(index)
    one_each = offset == n and np.array_equal(group, np.arange(n))
    return kind(n, d, np.concatenate(atoms), None if one_each else group, None if (scale == 1).all() else scale)
