"""robustsvm: support vector machines for data with error bars.

"Robust" means robust to uncertain *inputs*: each training point is a Gaussian, an ellipsoid or a
p-norm ball. Every convex fit comes with a certificate, a duality gap that proves how far the answer
is from the optimum, whichever solver found it. Outlying or wrong labels, and errors that points
share with each other, are out of scope.

>>> import robustsvm as rs
>>> points = rs.UncertainPoints([[-2.0], [-1.0], [1.0], [2.0]], std=[0.5, 0.5, 0.2, 0.2])
>>> solution = rs.formulations.worst_case(points, [-1, -1, 1, 1], lam=0.1).solve()
>>> solution.status
'optimal'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Loaded on first use (PEP 562), so that importing robustsvm loads neither cvxpy nor scikit-learn.
_MODULES = (
    "datasets",
    "errors",
    "formulations",
    "losses",
    "metrics",
    "penalties",
    "plotting",
    "solvers",
    "spreads",
    "testing",
    "uncertainty",
)
_NAMES = {
    "Certificate": "solution",
    "Dual": "dual",
    "Problem": "problem",
    "Solution": "solution",
    "UncertainPoints": "points",
    "certify": "certification",
    "load": "io",
    "path": "regularisation",
    "save": "io",
    "solve": "solvers",
}

if TYPE_CHECKING:
    from robustsvm import (
        datasets,
        errors,
        formulations,
        losses,
        metrics,
        penalties,
        plotting,
        solvers,
        spreads,
        testing,
        uncertainty,
    )
    from robustsvm.certification import certify
    from robustsvm.dual import Dual
    from robustsvm.io import load, save
    from robustsvm.points import UncertainPoints
    from robustsvm.problem import Problem
    from robustsvm.regularisation import path
    from robustsvm.solution import Certificate, Solution
    from robustsvm.solvers import solve

__all__ = [
    "Certificate",
    "Dual",
    "Problem",
    "Solution",
    "UncertainPoints",
    "certify",
    "datasets",
    "errors",
    "formulations",
    "load",
    "losses",
    "metrics",
    "path",
    "penalties",
    "plotting",
    "save",
    "solve",
    "solvers",
    "spreads",
    "testing",
    "uncertainty",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"robustsvm.{name}")
    if name in _NAMES:
        value = getattr(importlib.import_module(f"robustsvm.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'robustsvm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
