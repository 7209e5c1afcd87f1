"""Seeded problems of every kind, shared by the tests."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import robustsvm as rs

SPREADS = (
    "certain",
    "isotropic",
    "scalar",
    "diagonal",
    "per_feature",
    "variance",
    "full",
    "singular",
    "factor",
    "shared_full",
    "shared_factor",
    "shared_diagonal",
    "radii",
)
NORMS = (1.0, 1.5, 2.0, 3.0, np.inf)
LOSSES = (rs.losses.Hinge(), rs.losses.WorstCase(gamma=0.7), rs.losses.ExpectedHinge())
COVARIANCES = ("full", "singular", "shared_full")


def pairs() -> list[tuple[str, float]]:
    """Every (spread, p) that makes sense."""
    return [(spread, p) for spread in SPREADS for p in NORMS if p == 2 or spread not in COVARIANCES]


def spread_arguments(kind: str, n: int, d: int, rng: np.random.Generator, size: float = 0.3) -> dict:
    """Keyword arguments of UncertainPoints for one kind of spread."""
    groups = rng.integers(0, 3, n)
    groups[:3] = [0, 1, 2]
    square = rng.normal(size=(n, d, d)) * size / np.sqrt(d)
    arguments = {
        "certain": {},
        "isotropic": {"std": size * rng.uniform(0, 1, n)},
        "scalar": {"std": size},
        "diagonal": {"std": size * rng.uniform(0, 1, (n, d))},
        "per_feature": {"std": size * rng.uniform(0.1, 1, (1, d))},
        "variance": {"var": size**2 * rng.uniform(0, 1, (n, d))},
        "full": {"cov": square @ square.transpose(0, 2, 1)},
        "singular": {"cov": square[:, :, :1] @ square[:, :, :1].transpose(0, 2, 1) * d},
        "factor": {"factor": size * rng.normal(size=(n, d, 2))},
        "shared_full": {"cov": (square @ square.transpose(0, 2, 1))[:3], "group": groups},
        "shared_factor": {"factor": size * rng.normal(size=(3, d, 2)), "group": groups},
        "shared_diagonal": {"std": size * rng.uniform(0, 1, (3, d)), "group": groups},
        "radii": {"std": size * rng.uniform(0, 1, (n, d))},
    }
    return arguments[kind]


def make_points(
    kind: str, p: float = 2.0, n: int = 40, d: int = 4, seed: int = 0, dtype: type = np.float64, sparse: bool = False
) -> tuple[rs.UncertainPoints, np.ndarray]:
    """Overlapping classes with a spread of one kind."""
    rng = np.random.default_rng([seed, SPREADS.index(kind)])
    direction = rng.normal(size=d)
    X = rng.normal(size=(n, d))
    y = np.where(X @ direction / np.sqrt(d) + 0.3 * rng.normal(size=n) > 0.2, 1, -1)
    y[:2] = [-1, 1]
    X = X.astype(dtype)
    arguments = spread_arguments(kind, n, d, rng)
    arguments = {k: v if k == "group" else np.asarray(v, dtype) for k, v in arguments.items()}
    points = rs.UncertainPoints(sp.csr_array(X) if sparse else X, p=p, **arguments)
    if kind == "radii":
        points = points.scaled(rng.uniform(0, 1.5, n) * (rng.random(n) > 0.2))
    return points, y


def sparse_means(n: int, d: int, density: float, seed: int = 0) -> sp.csr_array:
    """CSR means of which a share is not zero."""
    rng = np.random.default_rng(seed)
    return sp.csr_array(rng.normal(size=(n, d)) * (rng.random((n, d)) < density))


def make_problem(kind: str, loss: rs.losses.Loss, p: float = 2.0, lam: float = 0.05, **options) -> rs.Problem:
    """A problem on such points; options of Problem and of `make_points` may be mixed."""
    shape = {key: options.pop(key) for key in ("n", "d", "seed", "dtype", "sparse") if key in options}
    points, y = make_points(kind, p, **shape)
    return rs.Problem(points, y, loss, None if "penalty" in options else lam, **options)


def dense_factor(points: rs.UncertainPoints) -> np.ndarray:
    """(n, d, r) factors, for writing formulas out the slow way."""
    return points.spread.factor()


def loss_cases() -> list:
    """Every (spread, p, loss) that makes sense."""
    return [
        (spread, p, loss) for spread, p in pairs() for loss in LOSSES if p == 2 or isinstance(loss, rs.losses.WorstCase)
    ]


def case_id(value: object) -> str:
    return (
        f"p={value:g}" if isinstance(value, float) else repr(value) if isinstance(value, rs.losses.Loss) else str(value)
    )
