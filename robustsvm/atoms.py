r"""How the spread of a set of points is stored, and what a hyperplane sees of it.

Every spread is a few *atoms* :math:`B_1, \dots, B_K` (matrices of shape (d, r)) and, for each
point, the atom it uses and a radius: :math:`A_i = \rho_i B_{g_i}`. The point is uncertain within
:math:`x_i + A_i u`, and a weight vector w sees of that the single number

.. math:: s_i = \|A_i^\top w\|_q = \rho_i \, \|B_{g_i}^\top w\|_q .

One error bar for everything is one atom (the identity); five instruments with a covariance each
are five atoms; a covariance for every point is K = n atoms. Norms, sums and cones are computed per
atom, never per point where points share one, and nothing is expanded unless it is asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from robustsvm.blocks import Floats, row_blocks
from robustsvm.norms import dual_directions, norm_curvature, smoothed_directions, smoothed_norms


class Spread(ABC):
    """Atoms, the atom each point uses (`group`) and each point's radius (`scale`).

    Parameters
    ----------
    n_points, n_features : int
        Shape of the points.
    values : array of K atoms, or None
        What the kind stores of its atoms.
    group : (n_points,) int array, optional
        Which atom each point uses. None: one atom each, or one for all when there is only one.
    scale : (n_points,) array, optional
        Radius of each point; None means 1.
    """

    kind: ClassVar[str]
    rank: int  # columns of an atom, r
    n_atoms: int

    def __init__(
        self, n_points: int, n_features: int, values: Any = None, group: Any = None, scale: Any = None
    ) -> None:
        self.n_points = n_points
        self.n_features = n_features
        self.values = values
        self.group = group
        self.scale = scale
        self.n_atoms = 1 if values is None else len(values)
        self.rank = n_features

    # -- what a kind says about its atoms (`rows` is a slice of atoms, or their numbers) -------------------------

    @abstractmethod
    def _project(self, w: Floats, rows: Any) -> Floats:
        """``B_k.T @ w`` for the atoms in `rows`, shape (k, r)."""

    @abstractmethod
    def _lift(self, E: Floats, rows: Any) -> Floats:
        """``sum_k B_k @ E[k]`` over the atoms in `rows`, shape (d,)."""

    @abstractmethod
    def _factor(self, rows: Any) -> Floats:
        """The atoms themselves, shape (k, d, r)."""

    @abstractmethod
    def _variances(self, rows: Any) -> Floats:
        """Diagonals of ``B_k @ B_k.T``, shape (k, d)."""

    @abstractmethod
    def columns(self, columns: Any) -> Spread:
        """The spread of a subset of the features: exact for every norm."""

    def _with(self, n_points: int, values: Any, group: Any, scale: Any) -> Self:
        return type(self)(n_points, self.n_features, values, group, scale)

    def _blocks(self) -> list[slice]:
        return list(row_blocks(self.n_atoms, self.n_features * max(1, self.rank)))

    # -- points and atoms ----------------------------------------------------------------------

    def expand(self, per_atom: Floats) -> Floats:
        """One number per atom -> one per point, times its radius."""
        if self.group is not None:
            out = per_atom[self.group]
        elif self.n_atoms == 1:
            out = np.full(self.n_points, per_atom[0])
        else:
            out = per_atom
        return out if self.scale is None else out * self.scale

    def gather(self, per_point: Floats) -> Floats:
        """The adjoint of `expand`: sums over the points of each atom, weighted by their radii."""
        weighted = per_point if self.scale is None else per_point * self.scale
        if self.group is not None:
            return np.bincount(self.group, weighted, minlength=self.n_atoms).astype(np.float64)
        return np.array([weighted.sum()]) if self.n_atoms == 1 else weighted

    def incidence(self) -> sp.csr_array:
        """The matrix M of `expand`, shape (n_points, K): one entry per row."""
        entries = (self.radii(), self.atom_of(), np.arange(self.n_points + 1))
        return sp.csr_array(entries, shape=(self.n_points, self.n_atoms))

    def atom_of(self) -> Any:
        """Which atom each point uses, shape (n,)."""
        if self.group is not None:
            return self.group
        return np.zeros(self.n_points, np.intp) if self.n_atoms == 1 else np.arange(self.n_points)

    def radii(self) -> Floats:
        """Radius of each point, shape (n,)."""
        return np.ones(self.n_points) if self.scale is None else self.scale

    # -- what a weight vector sees -------------------------------------------------------------

    def seen_by_atom(self, w: Floats, q: float, nu: float = 0.0) -> Floats:
        """``||B_k.T @ w||_q`` for each atom, the norm smoothed by `nu`."""
        return np.concatenate([self._seen(w, q, nu, rows) for rows in self._blocks()])

    def seen(self, w: Floats, q: float, nu: float = 0.0) -> Floats:
        """The spread s_i = ||A_i^T w||_q that w sees of each point; times its radius, the norm smoothed by `nu`."""
        return self.expand(self.seen_by_atom(w, q, nu))

    def project(self, w: Floats) -> Floats:
        """``B_k.T @ w`` for every atom, shape (K, r)."""
        return np.concatenate([self._project(w, rows) for rows in self._blocks()])

    def lift(self, E: Floats) -> Floats:
        """``sum_k B_k @ E[k]``, shape (d,)."""
        return np.sum([self._lift(E[rows], rows) for rows in self._blocks()], axis=0)

    def aligned(self, w: Floats, omega: Floats, q: float, nu: float = 0.0) -> Floats:
        """``sum_k omega_k B_k e_k`` with e_k the direction in which ``||B_k.T w||_q`` is attained, smoothed by `nu`."""
        return np.sum([self._aligned(w, omega[rows], q, nu, rows) for rows in self._blocks()], axis=0)

    def _seen(self, w: Floats, q: float, nu: float, rows: Any) -> Floats:
        return smoothed_norms(self._project(w, rows), q, nu)

    def _aligned(self, w: Floats, omega: Floats, q: float, nu: float, rows: Any) -> Floats:
        return self._lift(omega[:, None] * smoothed_directions(self._project(w, rows), q, nu), rows)

    def displacements(self, w: Floats, q: float) -> Floats:
        """A_i e_i for every point, shape (n, d): how far it may move against w, at radius 1."""
        return self.moved(dual_directions(self.project(w), q))

    def moved(self, E: Floats, points: Any = slice(None)) -> Floats:
        """A_i e_i for some of the points, shape (n, d), with a direction per atom: nothing else is expanded."""
        atoms, inverse = np.unique(self.atom_of()[points], return_inverse=True)
        images = np.concatenate(
            [self._image(E[atoms[rows]], atoms[rows]) for rows in row_blocks(len(atoms), self.n_features * self.rank)]
        )
        return np.asarray(images[inverse] * self.radii()[points][:, None])

    def _image(self, E: Floats, rows: Any) -> Floats:
        """``B_k @ E[k]``, shape (k, d)."""
        return np.einsum("kdr,kr->kd", self._factor(rows), E)

    # -- moments -------------------------------------------------------------------------------

    def mean_variances(self) -> Floats:
        """Mean over the points of the variance of each feature, shape (d,)."""
        weights = self.gather(self.radii()) / self.n_points
        return np.sum([weights[rows] @ self._variances(rows) for rows in self._blocks()], axis=0)

    def weighted_covariance(self, weights: Floats) -> Floats:
        """``sum_i weights_i A_i A_i^T``, shape (d, d)."""
        omega = self.gather(weights * self.radii())
        total = np.zeros((self.n_features, self.n_features))
        for rows in self._blocks():
            A = self._factor(rows)
            total += np.einsum("k,kdr,ker->de", omega[rows], A, A, optimize=True)
        return total

    def curved(self, W: Floats, atoms: Any) -> Floats:
        """``sum_k B_k diag(W_k) B_k.T`` over some of the atoms, shape (d, d)."""
        A = self._factor(atoms)
        flat = A.transpose(1, 0, 2).reshape(self.n_features, -1)
        return np.asarray((flat * W.ravel()) @ flat.T)

    def images(self, w: Floats, q: float, nu: float, atoms: Any) -> Floats:
        """``B_k e_k`` for some of the atoms, shape (k, d): the gradients of the norms that w sees."""
        return self._image(smoothed_directions(self._project(w, atoms), q, nu), atoms)

    def norm_hessian(self, w: Floats, q: float, nu: float, atoms: Any, weights: Floats) -> Floats:
        """The Hessian in w of ``sum_k weights_k ||B_k.T w||_q``, norms smoothed by `nu`, over some of the atoms."""
        total = np.zeros((self.n_features, self.n_features))
        for rows in row_blocks(len(atoms), self.n_features * max(1, self.rank)):
            some = atoms[rows]
            E, D, c = norm_curvature(self._project(w, some), q, nu)
            images = self._image(E, some) * np.sqrt(weights[rows] * c)[:, None]
            total += self.curved(weights[rows, None] * D, some) - images.T @ images
        return total

    def largest_deviations(self) -> Floats:
        """Largest standard deviation of each feature over the atoms, times the largest radius, shape (d,)."""
        largest = np.max([self._variances(rows).max(axis=0) for rows in self._blocks()], axis=0)
        return np.asarray(np.sqrt(largest) * float(self.radii().max()))

    def traces(self) -> Floats:
        """Trace of each point's covariance, shape (n,)."""
        traces = np.concatenate([self._variances(rows).sum(axis=1) for rows in self._blocks()])
        return self.expand(np.sqrt(traces)) ** 2

    def axis_lengths(self) -> Floats:
        """Standard deviation of each feature, per atom, shape (K, d)."""
        return np.sqrt(np.concatenate([self._variances(rows) for rows in self._blocks()]))

    def factor(self) -> Floats:
        """Every A_i, expanded, shape (n, d, r)."""
        atoms = np.concatenate([self._factor(rows) for rows in self._blocks()])
        return np.asarray(atoms[self.atom_of()] * self.radii()[:, None, None])

    def projection_matrix(self) -> sp.csr_array:
        """All ``B_k.T`` stacked, a sparse matrix of shape (K * r, d): what a cone solver is given."""
        blocks = [self._factor(rows) for rows in self._blocks()]
        stacked = np.concatenate([F.transpose(0, 2, 1).reshape(-1, self.n_features) for F in blocks])
        return sp.csr_array(stacked)

    # -- rows ----------------------------------------------------------------------------------

    def copy(self) -> Self:
        """The same spread in memory of its own."""
        own = [None if array is None else np.array(array) for array in (self.values, self.group, self.scale)]
        return self._with(self.n_points, *own)

    def take(self, rows: Any, n_points: int) -> Self:
        """The spread of some of the points; shared atoms stay shared."""
        scale = None if self.scale is None else self.scale[rows]
        if self.group is not None:
            group = self.group[rows]
            if n_points >= self.n_atoms:
                return self._with(n_points, self.values, group, scale)
            used, group = np.unique(group, return_inverse=True)  # atoms nobody uses any more stay behind
            return self._with(n_points, self.values[used], group, scale)
        if self.n_atoms == 1:
            return self._with(n_points, self.values, None, scale)
        return self._with(n_points, self.values[rows], None, scale)

    def scaled(self, radius: Any) -> Self:
        """A_i <- radius_i A_i."""
        radius = np.broadcast_to(np.asarray(radius, np.float64), (self.n_points,))
        scale = radius if self.scale is None else self.scale * radius
        return self._with(self.n_points, self.values, self.group, np.array(scale))

    @property
    def is_zero(self) -> bool:
        """Whether every point is certain."""
        return self.rank == 0 or (self.scale is not None and not self.scale.any())

    @property
    def nbytes(self) -> int:
        """Memory of what is stored."""
        return sum(int(array.nbytes) for array in (self.values, self.group, self.scale) if array is not None)

    def arrays(self) -> dict[str, Any]:
        """What is stored, by name, for saving."""
        stored = {"values": self.values, "group": self.group, "scale": self.scale}
        return {name: array for name, array in stored.items() if array is not None}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Spread):
            return NotImplemented
        if (self.kind, self.n_points, self.n_features) != (other.kind, other.n_points, other.n_features):
            return False
        mine, theirs = self.arrays(), other.arrays()
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[k], theirs[k]) for k in mine)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shared = f", {self.n_atoms} shared" if self.n_atoms < self.n_points and self.values is not None else ""
        return f"{type(self).__name__}({self.n_points} x {self.n_features}{shared})"
