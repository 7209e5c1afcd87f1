"""Which solver fits a problem: an estimate, and a sentence that says why."""

from __future__ import annotations

from robustsvm.chunks import ChunkedProblem
from robustsvm.losses import ExpectedHinge, Hinge
from robustsvm.problem import Problem

EXACT_SECONDS = 1.0  # what a cone program may cost before full passes are the better tool


def cone_seconds(problem: Problem) -> float:
    """About how long a cone solver takes, on one core of 2024: sizes times rates fitted to measurements."""
    n, d = problem.points.shape
    spread = problem.points.spread
    seconds = 2.5e-6 * n * d + 3e-8 * n * float(d) ** 2
    if spread.is_zero or isinstance(problem.loss, Hinge):
        return seconds
    entries = spread.n_atoms * spread.rank * (1 if "diagonal" in spread.kind else d)
    seconds += 1e-5 * spread.n_atoms * spread.rank + 1.2e-6 * entries
    return seconds * (1.5 if isinstance(problem.loss, ExpectedHinge) else 1.0)


def choose(problem: Problem | ChunkedProblem, steps: bool = False) -> tuple[str, str]:
    """The name of a solver and the reason for it; `steps` where something is asked of the steps of a solver."""
    if isinstance(problem, ChunkedProblem):
        return "stochastic", "stochastic: the data are a stream"
    seconds = cone_seconds(problem)
    n, d = problem.points.shape
    if steps:
        return "batch", "batch: max_passes, warm_start and callback ask for a solver that takes steps"
    if seconds <= EXACT_SECONDS:
        return "exact", f"exact: a cone program of {n} x {d} takes about {seconds:.1g} s (limit {EXACT_SECONDS:g} s)"
    return "batch", f"batch: a cone program of {n} x {d} would take about {seconds:.1g} s (limit {EXACT_SECONDS:g} s)"
