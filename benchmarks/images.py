"""MNIST, 1 against 7, with shifts of 5/3 pixels as factors of rank 2. The data are not ours: give a path.

The file is an .npz with ``train_images`` (n, 28, 28) and ``train_digits`` (n,).
"""

from __future__ import annotations

import numpy as np

import robustsvm as rs
from benchmarks.tools import heading, in_own_process, peak_megabytes

LOSSES = (rs.losses.ExpectedHinge(), rs.losses.WorstCase(gamma=1.0))


def _solve(path: str, index: int) -> tuple[float, float, float, float, float]:
    with np.load(path) as file:
        images = file["train_images"].astype(np.float32) / np.float32(255)
        y = np.where(file["train_digits"] == 7, 1, -1)
    points = rs.uncertainty.image_shifts(images, pixels=5 / 3)
    found = rs.solve(rs.Problem(points, y, LOSSES[index], lam=1e-2), "batch", tol=1e-4)
    return found.gap, found.passes, found.seconds, points.nbytes / 2**20, peak_megabytes()


def shifted_digits(path: str | None) -> None:
    heading("MNIST 1 against 7, shifts of 5/3 pixels, lam = 1e-2: gap 1e-4, memory as above")
    if path is None:
        print("not run: pass --mnist PATH")
        return
    for index, loss in enumerate(LOSSES):
        gap, passes, seconds, data, peak = in_own_process(_solve, path, index)
        print(
            f"{loss!r:24} gap {gap:.1e} in {passes:.1f} passes, {seconds:.1f} s; data {data:.0f} MB, "
            f"peak {peak:.0f} MB (limit {1.3 * data + 500:.0f})"
        )
