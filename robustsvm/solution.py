"""Certificate and Solution: facts recomputed from the problem, never taken from a solver's word."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np

from robustsvm.blocks import Floats, matvec
from robustsvm.dual import Dual
from robustsvm.errors import FalseBoundError


def relative_gap(objective: float, lower_bound: float) -> float:
    """(objective - lower_bound) / max(|objective|, |lower_bound|); 0 when both are 0.

    It bounds the relative distance of the objective from the optimum, whatever that is.

    Examples
    --------
    >>> relative_gap(2.0, 1.0), relative_gap(0.0, 0.0), relative_gap(1.0, float("-inf"))
    (0.5, 0.0, inf)
    """
    if objective == lower_bound:
        return 0.0
    if lower_bound == float("-inf") or objective == float("inf"):
        return float("inf")
    return (objective - lower_bound) / max(abs(objective), abs(lower_bound))


def honest_bound(objective: float, lower_bound: float) -> float:
    """`lower_bound`, or `objective` where it lies a hair below the bound.

    A bound that exceeds an objective value by more than rounding is false, and that is an error.
    """
    if lower_bound <= objective:
        return lower_bound
    if relative_gap(objective, lower_bound) < -1e-9:
        raise FalseBoundError(
            f"lower bound {lower_bound!r} exceeds an objective value {objective!r}: please report this problem."
        )
    return objective


class Step(NamedTuple):
    """One entry of a solver's history."""

    passes: float
    seconds: float
    objective: float
    lower_bound: float


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is known about a hyperplane.

    Attributes
    ----------
    objective : float
        P(w, b).
    lower_bound : float
        A number below every objective value of the problem.
    gap : float
        `relative_gap` of the two.
    source : str
        Where the bound came from: "dual" (given by the caller), "slopes", "kinks", "exact", "batch",
        "stochastic", or "none".
    passes : float
        Passes over the data that it took; a cone solver's work is not counted in passes.
    dual : Dual or None
        The feasible dual point; hand it back to `certify` and the bound costs one pass.
    """

    objective: float
    lower_bound: float
    source: str
    passes: float
    dual: Dual | None = field(default=None, repr=False)

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return relative_gap(self.objective, self.lower_bound)

    def __str__(self) -> str:
        return f"objective {self.objective:.8g}, lower bound {self.lower_bound:.8g}, gap {self.gap:.1e} ({self.source})"


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """A hyperplane with its certificate and how it was found.

    Attributes
    ----------
    w, b : (d,) array, float
        The hyperplane, in the user's units.
    objective, lower_bound, gap : float
        P(w, b), a bound below the optimum, and their relative gap, all recomputed from the problem.
    status : str
        "optimal" (gap <= tol), "tolerance_not_reached", "pass_limit" or "interrupted".
    solver, cvxpy_solver : str, str or None
        Which path found it, and which cone solver when that path was "exact".
    passes, seconds : float
        Cost. Passes over the data made by our own code; a cone solver's iterations are not passes.
    history : list of Step
        How objective and bound went.
    dual : Dual or None
        The dual point behind the bound; not kept for streams, where it is as long as the data.
    versions : dict
        Versions of the packages that took part.
    attempts : tuple of str
        One line per solver tried, with what became of it.
    reason : str
        Which solver was chosen and why, with the estimate it was chosen by.
    violation : float
        By how much (w, b) breaks constraints of the user's own; 0 where there are none. Where it is not 0
        the objective can lie a little below the constrained optimum, and the bound is cut to it.
    """

    w: Floats
    b: float
    objective: float
    lower_bound: float
    status: str
    solver: str
    passes: float
    seconds: float
    history: list[Step] = field(repr=False)
    dual: Dual | None = field(repr=False)
    cvxpy_solver: str | None = None
    versions: dict[str, str] = field(default_factory=dict, repr=False)
    attempts: tuple[str, ...] = ()
    violation: float = 0.0
    reason: str = ""

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return relative_gap(self.objective, self.lower_bound)

    def decision_function(self, points: Any) -> Floats:
        """w.x + b at the means of `points`, an array or UncertainPoints."""
        means = getattr(points, "means", points)
        means = means if hasattr(means, "indptr") else np.asarray(means)
        if means.ndim != 2 or means.shape[1] != len(self.w):
            raise ValueError(f"points must have {len(self.w)} features, got shape {means.shape}.")
        return matvec(means, self.w) + self.b

    def predict(self, points: Any) -> Floats:
        """The label, -1 or +1, of each of `points`."""
        return np.where(self.decision_function(points) > 0, 1.0, -1.0)

    def __repr__(self) -> str:
        with np.printoptions(precision=4, threshold=8):
            return (
                f"Solution({self.status}, objective={self.objective:.8g}, lower_bound={self.lower_bound:.8g}, "
                f"gap={self.gap:.1e}, solver={self.cvxpy_solver or self.solver}, w={self.w}, b={self.b:.4g})"
            )


def installed_versions(*packages: str) -> dict[str, str]:
    """Versions of Python and of those `packages` that are installed."""
    found = {package: _installed_version(package) for package in packages}
    return {"python": platform.python_version(), **{name: v for name, v in found.items() if v is not None}}


@cache
def _installed_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
