"""Checks of single numbers and flags: each error names the argument, what was wrong and what is needed."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_number(value: Any, name: str, *, above: float | None = None, at_least: float | None = None) -> float:
    """`value` as a finite float, greater than `above` or not smaller than `at_least`."""
    need = "a finite number"
    if above is not None:
        need += f" > {above:g}"
    if at_least is not None:
        need += f" >= {at_least:g}"
    array = np.asarray(value)
    if array.ndim != 0 or array.dtype.kind not in "fiu" or isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} must be {need}, got {value!r}.")
    number = float(array)
    low = (above is not None and number <= above) or (at_least is not None and number < at_least)
    if not np.isfinite(number) or low:
        raise ValueError(f"{name} must be {need}, got {value!r}.")
    return number


def as_generator(random_state: Any) -> np.random.Generator:
    """A generator of random numbers from a seed, a Generator, or None."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if random_state is not None and (not whole or random_state < 0):
        raise ValueError(f"random_state must be a whole number >= 0, a numpy Generator or None, got {random_state!r}.")
    return np.random.default_rng(random_state)


def as_count(value: Any, name: str, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def as_flag(value: Any, name: str) -> bool:
    """True or False, and nothing that merely looks like it."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)
