"""The kinds of spread: certain, isotropic, error bars, covariances, low-rank factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustsvm.atoms import Spread
from robustsvm.blocks import Floats
from robustsvm.diagonals import Diagonal, DiagonalVariance, Isotropic
from robustsvm.matrices import Factor, Full, correlation_form

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

    def _project(self, w: Floats, rows: Any) -> Floats:
        return np.zeros((1, 0))

    def _lift(self, E: Floats, rows: Any) -> Floats:
        return np.zeros(self.n_features)

    def _factor(self, rows: Any) -> Floats:
        return np.zeros((1, self.n_features, 0))

    def _variances(self, rows: Any) -> Floats:
        return np.zeros((1, self.n_features))

    def scaled(self, radius: Any) -> Certain:
        """Nothing to scale."""
        return self

    def columns(self, columns: Any) -> Certain:
        """Certain features stay certain."""
        return Certain(self.n_points, len(np.arange(self.n_features)[columns]))


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
