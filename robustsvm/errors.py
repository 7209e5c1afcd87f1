"""What can go wrong, by name: one exception for a failed solve, one warning for a bumpy one."""

from __future__ import annotations


class SolverFailedError(RuntimeError):
    """Every solver of the chain failed; the message lists each attempt and what to try."""


class FalseBoundError(AssertionError):
    """A lower bound came out above an objective value: a defect of the library, never of the data."""


class SolverWarning(UserWarning):
    """A solver was missing, failed, or stopped short of the tolerance; the message says which."""
