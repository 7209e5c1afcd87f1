"""The variables of a formulation, in units in which a cone solver's absolute tolerances make sense."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from robustsvm.blocks import Floats, column_means
from robustsvm.problem import Problem


class Frame:
    """Scaled variables omega and beta, and w and b in the user's units as expressions of them.

    Features are divided by their root mean square, spread included, and centred where there is an
    intercept to take up the shift (sparse data are not centred: they would not stay sparse).

    Parameters
    ----------
    problem : Problem
        The data.
    radius : float
        Typical radius at which the spread counts; 0 where it plays no part.
    """

    def __init__(self, problem: Problem, radius: float) -> None:
        X, d = problem.points.means, problem.points.shape[1]
        sparse = sp.issparse(X)
        centred = problem.fit_intercept and not sparse
        self.centre = column_means(X, np.asarray) if centred else np.zeros(d)
        square: Callable[[Any], Any] = (lambda x: x.power(2)) if sparse else (lambda x: (x - self.centre) ** 2)
        squares = column_means(X, square) + radius**2 * problem.points.spread.mean_variances()
        self.units: Floats = np.where(squares > 0, np.sqrt(squares), 1.0)
        self.typical_unit = float(np.exp(np.mean(np.log(self.units))))
        self.omega = cp.Variable(d, name="omega")
        self.beta = cp.Variable(name="beta") if problem.fit_intercept else cp.Constant(0.0)
        self.w = cp.multiply(1.0 / self.units, self.omega)
        self.b = self.beta - (self.centre / self.units) @ self.omega if centred else self.beta
        if sparse:
            data = sp.csr_array(X.astype(np.float64) @ sp.diags_array(1.0 / self.units))
        else:
            data = (np.asarray(X, np.float64) - self.centre) / self.units
        self.deficit = problem.margin - cp.multiply(problem.y, data @ self.omega + self.beta)

    def variable_ids(self) -> set[int]:
        """Which CVXPY variables w and b are made of."""
        return {variable.id for variable in (*self.w.variables(), *self.b.variables())}

    def hyperplane(self) -> tuple[Floats, float]:
        """(w, b) as the variables have them now."""
        return np.asarray(self.w.value, np.float64), float(self.b.value)

    def place(self, w: Floats, b: float) -> None:
        """Let the variables have the values of this hyperplane."""
        self.omega.value = self.units * w
        if isinstance(self.beta, cp.Variable):
            self.beta.value = b + float(self.centre @ w)
