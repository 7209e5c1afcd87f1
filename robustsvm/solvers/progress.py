"""The progress bar: tqdm's, counting passes and showing the certified gap."""

from __future__ import annotations

import logging
from typing import Any, Self

from robustsvm.solution import Step, relative_gap

logger = logging.getLogger("robustsvm")


class Progress:
    """``verbose=1`` draws a bar; each step also goes to the logger "robustsvm" at level DEBUG."""

    def __init__(self, solver: str, tol: float, verbose: int) -> None:
        self.solver, self.tol = solver, tol
        self.bar: Any = _bar(solver) if verbose else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def show(self, step: Step) -> None:
        """Bring the bar up to date."""
        gap = relative_gap(step.objective, step.lower_bound)
        logger.debug("%s: %.4g passes, objective %.8g, gap %.1e", self.solver, step.passes, step.objective, gap)
        if self.bar is not None:
            self.bar.update(step.passes - self.bar.n)
            self.bar.set_postfix_str(f"gap {gap:.1e} (tol {self.tol:g})")


def _bar(solver: str) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError('verbose=1 draws its bar with tqdm; pip install "robustsvm[progress]".') from None
    return tqdm(desc=solver, unit=" passes", bar_format="{desc}: {n:.1f}{unit} [{elapsed}{postfix}]")
