"""A stream from disk: five gigabytes that never are in memory at once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import robustsvm as rs
from benchmarks.tools import LOSSES, heading, in_own_process, peak_megabytes

D, CHUNK = 100, 50_000


def write(folder: Path, gigabytes: float) -> int:
    """Files of `CHUNK` rows of means, variances and labels, from one seed; how many there are."""
    bytes_each = CHUNK * D * 8 * 2
    count = max(1, round(gigabytes * 1e9 / bytes_each))
    rng = np.random.default_rng(0)
    direction = rng.standard_normal(D)
    for number in range(count):
        X = rng.standard_normal((CHUNK, D))
        noise = 0.3 * rng.standard_normal(CHUNK)
        np.save(folder / f"X{number}.npy", X)
        np.save(folder / f"V{number}.npy", 10.0 ** rng.uniform(-3, 0, X.shape))
        np.save(folder / f"y{number}.npy", np.where(X @ direction / np.sqrt(D) + noise > 0, 1, -1))
    return count


def _solve(folder: str, count: int, index: int) -> tuple[float, float, float, int, float]:
    reads = 0

    def chunks() -> Iterator[Any]:
        nonlocal reads
        for number in range(count):
            reads += 1
            X, V, y = (np.load(Path(folder) / f"{name}{number}.npy") for name in "XVy")
            yield rs.UncertainPoints(X, var=V), y

    stream = rs.Problem.from_chunks(chunks, LOSSES[index], lam=1e-3)
    found = rs.solve(stream, tol=1e-2, random_state=0)
    return found.gap, found.passes, found.seconds, reads, peak_megabytes()


def from_disk(gigabytes: float = 5.0) -> None:
    heading(f"a stream of {gigabytes:g} GB from disk: gap 1e-2 in at most 8 passes, memory under 1 GB")
    with tempfile.TemporaryDirectory() as folder:
        count = write(Path(folder), gigabytes)
        for index, loss in enumerate(LOSSES):
            gap, passes, seconds, reads, peak = in_own_process(_solve, folder, count, index)
            print(
                f"{loss!r:24} n = {count * CHUNK}: gap {gap:.1e}, {passes:.2f} passes, "
                f"{reads / count:.2f} times the disk, peak {peak:.0f} MB, {seconds:.0f} s"
            )
