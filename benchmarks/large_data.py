"""Batch and stochastic solvers on the synthetic problem: passes, time in passes, memory."""

from __future__ import annotations

import numpy as np

import robustsvm as rs
from benchmarks.tools import LOSSES, heading, in_own_process, one_pass, peak_megabytes
from robustsvm.solution import Step, relative_gap

LAM = 1e-3


def passes_to(history: list[Step], gap: float) -> float:
    """Passes at which the certified gap was first reached."""
    return next((s.passes for s in history if relative_gap(s.objective, s.lower_bound) <= gap), np.inf)


def epochs_to(history: list[Step], optimum: float, distance: float) -> float:
    """Passes at which the objective first was that close to the optimum."""
    return next((s.passes for s in history if s.objective <= optimum * (1 + distance)), np.inf)


def batch() -> None:
    heading("batch, n = 100 000, d = 100, variances per value, lam = 1e-3")
    print("loss                       gap    passes to 1e-4   to 1e-6   seconds / one pass   (goals: see the issue)")
    points, y = rs.datasets.synthetic(100_000, 100)
    for loss in LOSSES:
        problem = rs.Problem(points, y, loss, lam=LAM)
        unit = one_pass(problem)
        found = min((rs.solve(problem, "batch") for _ in range(3)), key=lambda s: s.seconds)
        print(
            f"{loss!r:24} {found.gap:7.1e} {passes_to(found.history, 1e-4):12.1f} "
            f"{passes_to(found.history, 1e-6):12.1f} {found.seconds / unit:16.1f}      one pass {unit * 1e3:.1f} ms"
        )


def badly_scaled() -> None:
    heading("batch, badly scaled, n = 20 000, d = 100: passes to 1e-6 (goal 500)")
    for rotated in (False, True):
        points, y = rs.datasets.synthetic(20_000, 100, badly_scaled=True, rotated=rotated)
        for lam in (1e-3, 1e-5):
            for loss in LOSSES:
                found = rs.solve(rs.Problem(points, y, loss, lam=lam), "batch")
                turned = "rotated" if rotated else "scaled"
                print(f"{turned:8} lam {lam:g} {loss!r:24} gap {found.gap:.1e} after {found.passes:.1f} passes")


def stochastic(seeds: int = 10) -> None:
    heading(f"stochastic, n = 100 000, d = 100: the worst of {seeds} seeds, epochs with everything counted")
    print("data     loss                     distance 1e-3 (6)   1e-4 (15)   gap 1e-2 (10)   1e-3 (20)   distance 1e-2")
    for scaled in (False, True):
        points, y = rs.datasets.synthetic(100_000, 100, badly_scaled=scaled)
        for loss in LOSSES:
            problem = rs.Problem(points, y, loss, lam=LAM)
            optimum = rs.solve(problem, "batch", tol=1e-7).lower_bound
            runs = [_quiet(problem, seed) for seed in range(seeds)]
            worst = [max(epochs_to(r, optimum, level) for r in runs) for level in (1e-3, 1e-4)]
            worst += [max(passes_to(r, level) for r in runs) for level in (1e-2, 1e-3)]
            worst += [max(epochs_to(r, optimum, 1e-2) for r in runs)]
            name = "scaled" if scaled else "plain"
            print(f"{name:8} {loss!r:24} " + "".join(f"{value:14.1f}" for value in worst))


def _quiet(problem: rs.Problem, seed: int) -> list[Step]:
    seen: list[Step] = []

    def look(solution: rs.Solution) -> bool:
        seen[:] = solution.history
        return solution.passes >= 22

    rs.solve(problem, "stochastic", tol=1e-9, callback=look, random_state=seed)
    return seen


def small_real_data() -> None:
    heading("stochastic on 569 points (WDBC, standardised): batch is the tool for this size")
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler

    X, labels = load_breast_cancer(return_X_y=True)
    points = rs.UncertainPoints(StandardScaler().fit_transform(X), std=0.2)
    for loss in LOSSES:
        problem = rs.Problem(points, np.where(labels == 1, 1, -1), loss, lam=LAM)
        best = rs.solve(problem, "batch")
        last = _quiet(problem, 0)[-1]
        gap = relative_gap(last.objective, last.lower_bound)
        print(
            f"{loss!r:24} batch: gap {best.gap:.1e} in {best.passes:.0f} passes; stochastic after 20 epochs: distance "
            f"{last.objective / best.lower_bound - 1:.1e}, gap {gap:.1e}"
        )


def _million(n: int, index: int) -> tuple[float, float, float, float, float]:
    points, y = rs.datasets.synthetic(n, 100, dtype=np.float32)
    before = peak_megabytes()
    found = rs.solve(rs.Problem(points, y, LOSSES[index], lam=LAM), "batch", tol=1e-4)
    return found.gap, found.passes, found.seconds, points.nbytes / 2**20, max(before, peak_megabytes())


def million() -> None:
    heading("batch, n = 1 000 000, d = 100, float32: gap 1e-4, memory at most 1.3 times the data + 500 MB")
    for index, loss in enumerate(LOSSES):
        small = in_own_process(_million, 100_000, index)
        gap, passes, seconds, data, peak = in_own_process(_million, 1_000_000, index)
        print(
            f"{loss!r:24} gap {gap:.1e} in {passes:.1f} passes; data {data:.0f} MB, peak {peak:.0f} MB "
            f"(limit {1.3 * data + 500:.0f}); {seconds:.2f} s, {seconds / small[2]:.1f} times n = 100 000"
        )
