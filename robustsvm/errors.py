"""What can go wrong, by name: one exception for a failed solve, one warning for a bumpy one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from robustsvm.solution import Solution


class SolverFailedError(RuntimeError):
    """Every solver of the chain failed; the message lists each attempt and what to try."""


class FalseBoundError(AssertionError):
    """A lower bound came out above an objective value: a defect of the library, never of the data."""


class SolveInterrupted(KeyboardInterrupt):
    """Ctrl-C during a solve. `solution` is the best point found until then, with its certificate.

    Before the first point has been judged it is where the solver stands, with a gap of infinity.
    """

    def __init__(self, solution: Solution) -> None:
        super().__init__(f"interrupted after {solution.passes:.3g} passes at a gap of {solution.gap:.1e}")
        self.solution = solution

    def __reduce__(self) -> tuple[type[SolveInterrupted], tuple[Solution]]:
        return type(self), (self.solution,)


class SolverWarning(UserWarning):
    """A solver was missing, failed, or stopped short of the tolerance; the message says which."""
