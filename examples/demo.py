"""Every formulation on the breast-cancer data, which has a standard error for each value; a table and a figure.

Run by ``make demo``. The data ship with scikit-learn: ten measurements of cell nuclei per patient, each the mean over
the nuclei of an image, with its standard error.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import robustsvm as rs
from robustsvm.plotting import plot_boundaries, plot_points

LAM = 1e-2
FIGURE = Path(__file__).resolve().parent.parent / "demo.png"


def breast_cancer() -> tuple[rs.UncertainPoints, np.ndarray]:
    """Means and standard errors of the ten measurements, in units of each measurement's deviation over patients."""
    data = load_breast_cancer()
    means, errors = data.data[:, :10], data.data[:, 10:20]
    unit = means.std(axis=0)
    points = rs.UncertainPoints(
        (means - means.mean(axis=0)) / unit, std=errors / unit, feature_names=data.feature_names[:10]
    )
    return points, np.where(data.target == 1, 1, -1)


def formulations(points: rs.UncertainPoints, y: np.ndarray) -> dict[str, rs.formulations.Formulation]:
    """One of each kind."""
    make = rs.formulations
    return {
        "nominal": make.nominal(points, y, lam=LAM),
        "worst case, p = 2": make.worst_case(points, y, lam=LAM),
        "worst case, p = 1": make.worst_case(points.with_p(1), y, lam=LAM),
        "worst case, p = 1.5": make.worst_case(points.with_p(1.5), y, lam=LAM),
        "worst case, p = inf": make.worst_case(points.with_p(np.inf), y, lam=LAM),
        "chance 10 %, gaussian": make.chance_constrained(points, y, lam=LAM, epsilon=0.1),
        "chance 10 %, any": make.chance_constrained(points, y, lam=LAM, epsilon=0.1, noise="any"),
        "expected hinge (GSU)": make.expected_hinge(points, y, lam=LAM),
    }


def print_table(points: rs.UncertainPoints, y: np.ndarray) -> None:
    head = ("formulation", "objective", "lower bound", "gap", "training error", "expected error", "seconds", "solver")
    print(f"{points!r}, lam = {LAM:g}. Errors on the training points: means, and in expectation over the error bars.")
    print("{:<22} {:>10} {:>11} {:>8} {:>14} {:>14} {:>7}  {}".format(*head))
    for name, formulation in formulations(points, y).items():
        solution = formulation.solve()
        print(
            f"{name:<22} {solution.objective:>10.6f} {solution.lower_bound:>11.6f} {solution.gap:>8.1e} "
            f"{rs.metrics.mean_error(solution, points, y):>14.2%} "
            f"{rs.metrics.expected_error(solution, points, y):>14.2%} "
            f"{solution.seconds:>7.2f}  {solution.cvxpy_solver}"
        )


def plane() -> tuple[rs.UncertainPoints, np.ndarray]:
    """Forty points of the plane: wide error bars along one axis, a few points much more uncertain than others."""
    rng = np.random.default_rng(4)
    y = np.repeat([-1, 1], 20)
    X = rng.normal(size=(40, 2)) * [1.0, 0.6] + np.outer(y, [0.9, 0.8])
    angle = rng.uniform(-0.4, 0.4, 40)
    axes = np.stack([rng.uniform(0.2, 1.2, 40), rng.uniform(0.05, 0.2, 40)], axis=1)
    turn = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], axis=1).reshape(40, 2, 2)
    return rs.UncertainPoints(X, factor=turn * axes[:, None, :]), y


def draw(path: Path) -> None:
    points, y = plane()
    make = rs.formulations
    solved = {
        "nominal: means only": make.nominal(points, y, lam=LAM).solve(),
        "worst case, radius 1": make.worst_case(points, y, lam=LAM).solve(),
        "chance constraint 10 %": make.chance_constrained(points, y, lam=LAM).solve(),
        "expected hinge (SVM-GSU)": make.expected_hinge(points, y, lam=LAM).solve(),
    }
    ax = plot_points(points, y)
    plot_boundaries({name: (solution.w, solution.b) for name, solution in solved.items()}, ax=ax)
    ax.set_title("What error bars do to the boundary (one-sigma ellipses)")
    ax.figure.savefig(path, dpi=150)
    plt.close(ax.figure)


def main() -> None:
    print_table(*breast_cancer())
    draw(FIGURE)
    print(f"A 2-D example with ellipses and boundaries: {FIGURE.name}")


if __name__ == "__main__":
    main()
