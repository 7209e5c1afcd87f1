"""UncertainPoints: means, spread and norm of a set of uncertain points."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from robustsvm.blocks import Floats, dense
from robustsvm.checks import (
    as_means,
    as_names,
    as_norm,
    as_per_sample,
    require_aligned,
    require_finite,
    spread_from,
)
from robustsvm.indexing import as_columns, as_rows
from robustsvm.norms import conjugate_exponent
from robustsvm.scalars import as_generator
from robustsvm.spreads import Certain, Diagonal, Full, Isotropic, Spread, concatenated


class UncertainPoints:
    r"""Points with error bars: the set x_i + {A_i u : ||u||_p <= 1}, or for p = 2 the Gaussian N(x_i, A_i A_i^T).

    Give at most one of `std`, `var`, `cov` and `factor`; with none the points are certain.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or DataFrame
        Means. float32 and float64 are kept as they are, memory maps stay mapped.
    std : scalar, (n,), (n, d) or (1, d)
        Error bars: one for all, one per point, one per value, or one per feature. A vector is always
        one per point; for one per feature pass ``std[None, :]``.
    var : as `std`
        The same as variances.
    cov : (n, d, d), (d, d), or (k, d, d) with `group`
        Covariance matrices, positive semidefinite; singular ones are fine.
    factor : (n, d, r), or (k, d, r) with `group`
        Low-rank factors: covariance ``F @ F.T``. A single one, (1, d, r), is shared by all.
    group : (n,) int, optional
        Row of `cov`, `factor`, `std` or `var` that each point uses, when points share them.
    p : float in [1, inf], default 2
        Norm of the uncertainty set: 2 an ellipsoid, inf a box, 1 a diamond. A covariance does not
        determine a set for p != 2: give error bars or factors there.
    feature_names : sequence of str, optional
        Names of the d features; taken from a DataFrame when not given.

    Examples
    --------
    >>> import numpy as np
    >>> import robustsvm as rs
    >>> X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    >>> pts = rs.UncertainPoints(X, std=[0.1, 0.2, 0.3])
    >>> pts
    UncertainPoints(n=3, d=2, spread=Isotropic, p=2)
    >>> pts[[0, 2]].means
    array([[0., 1.],
           [4., 5.]])
    >>> pts.covariance()[1]
    array([[0.04, 0.  ],
           [0.  , 0.04]])
    >>> rs.UncertainPoints(X, std=[0.1, 0.2])
    Traceback (most recent call last):
        ...
    ValueError: std of shape (2,) does not match 3 samples; for one error bar per feature pass std[None, :].
    """

    def __init__(
        self,
        X: Any,
        *,
        std: Any = None,
        var: Any = None,
        cov: Any = None,
        factor: Any = None,
        group: Any = None,
        p: float | None = None,
        feature_names: Any = None,
    ) -> None:
        if isinstance(X, UncertainPoints):
            raise TypeError("X is UncertainPoints already; use it as it is, or X.means for its means alone.")
        if feature_names is None and hasattr(X, "columns"):
            feature_names = [str(name) for name in X.columns]
        for name, errors in (("std", std), ("var", var)):
            require_aligned(X, errors, name)
        means = as_means(X)
        spread = spread_from(means.shape, std=std, var=var, cov=cov, factor=factor, group=group)
        self._set(means, spread, as_norm(p), feature_names)

    def _set(self, means: Any, spread: Spread, p: float, feature_names: Any) -> None:
        if isinstance(spread, Full) and p != 2:
            raise ValueError(
                f"cov with p = {p:g}: a covariance fixes an ellipsoid, not a {p:g}-norm set (its square root is not "
                "unique). Give std= for axis-aligned sets or factor= for the map of the unit ball."
            )
        self._means = means
        self._spread = spread
        self._p = p
        self._feature_names = None if feature_names is None else as_names(feature_names, means.shape[1])

    @classmethod
    def _from(cls, means: Any, spread: Spread, p: float, feature_names: Any = None) -> Self:
        """Points from parts that are known to be good."""
        points = cls.__new__(cls)
        points._set(means, spread, p, feature_names)
        return points

    # -- facts ---------------------------------------------------------------------------------

    ndim = 2

    @property
    def means(self) -> Any:
        """(n, d) array or CSR array: the caller's own, not a copy."""
        return self._means

    @property
    def spread(self) -> Spread:
        """How the uncertainty is stored."""
        return self._spread

    @property
    def p(self) -> float:
        """Norm of the uncertainty set."""
        return self._p

    @property
    def feature_names(self) -> Any:
        """(d,) array of str, or None."""
        return self._feature_names

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return (int(self.means.shape[0]), int(self.means.shape[1]))

    @property
    def dtype(self) -> Any:
        """Type of the means."""
        return self.means.dtype

    @property
    def q(self) -> float:
        """The dual norm's exponent, 1/p + 1/q = 1: s_i = ||A_i^T w||_q."""
        return conjugate_exponent(self.p)

    @property
    def nbytes(self) -> int:
        """Memory of means and spread as stored."""
        m = self.means
        own = m.data.nbytes + m.indices.nbytes + m.indptr.nbytes if sp.issparse(m) else m.nbytes
        return int(own) + self.spread.nbytes

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        sparse = ", sparse" if sp.issparse(self.means) else ""
        shared = f" ({self.spread.n_atoms} shared)" if self._shares_atoms else ""
        if self.spread.scale is not None and not isinstance(self.spread, Isotropic):
            shared += f" times {self.spread.scale.min():g}..{self.spread.scale.max():g}"
        return f"UncertainPoints(n={len(self)}, d={self.shape[1]}, spread={self._kind}{shared}, p={self.p:g}{sparse})"

    @property
    def _kind(self) -> str:
        return "Diagonal" if isinstance(self.spread, Diagonal) else type(self.spread).__name__

    @property
    def _shares_atoms(self) -> bool:
        return self.spread.values is not None and self.spread.n_atoms < len(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UncertainPoints):
            return NotImplemented
        if self.shape != other.shape or self.p != other.p or self.spread != other.spread:
            return False
        if not np.array_equal(self.feature_names, other.feature_names):
            return False
        mine, theirs = self.means, other.means
        if sp.issparse(mine) != sp.issparse(theirs):
            return False
        return not (mine != theirs).nnz if sp.issparse(mine) else bool(np.array_equal(mine, theirs))

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "UncertainPoints cannot become a plain array: that would drop the spread. Use .means for the means "
            "alone, and tools that carry the spread along in place of ones that expect an array."
        )

    # -- rows and columns ----------------------------------------------------------------------

    def __getitem__(self, key: Any) -> UncertainPoints:
        """Rows, by anything NumPy takes: slice, mask, integers. A single integer gives one point."""
        rows, count = as_rows(key, len(self))
        return self._from(self.means[rows], self.spread.take(rows, count), self.p, self.feature_names)

    def columns(self, columns: Any) -> UncertainPoints:
        """The points seen through some of their features: by number, mask, slice or name.

        Exact: the marginal of a Gaussian, and the shadow of a p-norm set, have the same form.
        """
        index = as_columns(columns, self.shape[1], self.feature_names)
        names = None if self.feature_names is None else self.feature_names[index]
        return self._from(self.means[:, index], self.spread.columns(index), self.p, names)

    # -- new points from old -------------------------------------------------------------------

    def scaled(self, radius: Any) -> UncertainPoints:
        """A_i <- radius_i A_i: the same points with larger or smaller sets, one radius or one per point."""
        radius = as_per_sample(radius, len(self), "radius")
        if (radius < 0).any():
            raise ValueError(f"radius must not be negative; the smallest is {radius.min():g}.")
        spread = self.spread.scaled(radius)
        require_finite(spread.radii(), "radius times the radii so far")
        return self._from(self.means, spread, self.p, self.feature_names)

    def with_p(self, p: float) -> UncertainPoints:
        """The same factors, the set measured in another norm."""
        return self._from(self.means, self.spread, as_norm(p), self.feature_names)

    def isotropic(self) -> UncertainPoints:
        """The same total variance (trace) spread evenly over all directions."""
        self._require_gaussian("isotropic() keeps the trace of the covariance")
        std = np.sqrt(self.spread.traces() / self.shape[1])
        return self._from(self.means, Isotropic(*self.shape, None, None, std), self.p, self.feature_names)

    def copy(self) -> UncertainPoints:
        """Points that share no memory with these."""
        means = self.means.copy() if sp.issparse(self.means) else np.array(self.means)
        return self._from(means, self.spread.copy(), self.p, self.feature_names)

    def concatenate(self, *others: UncertainPoints) -> UncertainPoints:
        """These points followed by others of the same features, norm and kind of spread.

        Certain points go with every kind, isotropic ones with error bars and covariances, and error
        bars with variances. Other mixtures would have to be expanded, which is not done behind your
        back: they raise.
        """
        every = (self, *others)
        for other in others:
            if not isinstance(other, UncertainPoints):
                raise TypeError(f"concatenate takes UncertainPoints, got {type(other).__name__}.")
            if other.shape[1] != self.shape[1]:
                raise ValueError(f"cannot concatenate {other!r} to {self!r}: the features must agree.")
            if not np.array_equal(self.feature_names, other.feature_names):
                raise ValueError("cannot concatenate points whose feature_names differ.")
        norms = {points.p for points in every if not isinstance(points.spread, Certain)} or {self.p}
        if len(norms) > 1:
            raise ValueError(f"cannot concatenate sets of different norms, p = {sorted(norms)}.")
        stack = sp.vstack if any(sp.issparse(points.means) for points in every) else np.concatenate
        means = stack([points.means for points in every])
        spread = concatenated([points.spread for points in every])
        means = sp.csr_array(means) if sp.issparse(means) else means
        return self._from(means, spread, norms.pop(), self.feature_names)

    # -- moments and draws ---------------------------------------------------------------------

    def covariance(self) -> Floats:
        """The covariance of every point, expanded to (n, d, d). Ask for it only when it fits in memory."""
        self._require_gaussian("covariance() reads the points as Gaussians")
        A = self.spread.factor()
        return np.asarray(A @ A.transpose(0, 2, 1))

    def sample(self, k: int, random_state: Any = None) -> Floats:
        """`k` draws from each Gaussian N(x_i, A_i A_i^T), shape (k, n, d)."""
        self._require_gaussian("sample() reads the points as Gaussians")
        if not isinstance(k, (int, np.integer)) or k < 1:
            raise ValueError(f"k must be a whole number of at least 1, got {k!r}.")
        rng = as_generator(random_state)
        means = dense(self.means)
        n, d = self.shape
        draws = np.empty((k, n, d))
        if isinstance(self.spread, Certain):
            draws[:] = means
        elif isinstance(self.spread, (Isotropic, Diagonal)):
            per_point = np.stack([self.spread.expand(column) for column in self.spread.axis_lengths().T], axis=1)
            draws[:] = means + per_point * rng.standard_normal((k, n, d))
        else:
            draws[:] = means
            atom_of, radii = self.spread.atom_of(), self.spread.radii()
            for atom in range(self.spread.n_atoms):
                rows = np.flatnonzero(atom_of == atom) if self.spread.n_atoms < n else np.array([atom])
                noise = rng.standard_normal((k, len(rows), self.spread.rank)) * radii[rows, None]
                draws[:, rows] += noise @ self.spread._factor(slice(atom, atom + 1))[0].T
        return draws

    def _require_gaussian(self, what: str) -> None:
        if self.p != 2:
            raise ValueError(f"{what}, and these are {self.p:g}-norm sets; use points.with_p(2) if that is meant.")
