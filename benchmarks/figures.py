"""Pictures of a solve: gap against passes, gap against time."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

import robustsvm as rs
from benchmarks.tools import LOSSES, heading
from robustsvm.solution import relative_gap

SOLVERS = ("batch", "stochastic", "pegasos", "subgradient")


def gaps(folder: str) -> None:
    heading("figures")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    points, y = rs.datasets.synthetic(50_000, 50)
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), sharey=True, layout="constrained")
    for row, loss in zip(axes, LOSSES, strict=True):
        problem = rs.Problem(points, y, loss, lam=1e-3)
        for solver in SOLVERS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = rs.solve(problem, solver, tol=1e-7, max_passes=40, random_state=0)
            steps = np.array([(s.passes, s.seconds, relative_gap(s.objective, s.lower_bound)) for s in found.history])
            row[0].semilogy(steps[:, 0], steps[:, 2], marker="o", markersize=3, label=solver)
            row[1].loglog(steps[:, 1], steps[:, 2], marker="o", markersize=3, label=solver)
        row[0].set_ylabel(f"certified gap, {loss.name.replace('_', ' ')}")
    axes[1, 0].set_xlabel("passes over the data")
    axes[1, 1].set_xlabel("seconds")
    axes[0, 0].legend()
    figure.suptitle("n = 50 000, d = 50, an error bar per value, lam = 1e-3")
    path = Path(folder) / "gaps.png"
    figure.savefig(path, dpi=120)
    print(f"written: {path}")
