"""A problem whose data never are in memory at once: chunks of (points, y), read anew for every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from robustsvm.losses import Loss
from robustsvm.penalties import Penalty

if TYPE_CHECKING:
    from robustsvm.problem import Problem

Chunks = Callable[[], Iterator[Any]]


class ChunkedProblem:
    """A robust SVM on a stream; made by `Problem.from_chunks`.

    Attributes
    ----------
    loss, penalty, fit_intercept :
        As in `Problem`.
    one_shot : bool
        Whether the data can be read once only; then nothing can be certified.
    """

    def __init__(
        self,
        chunks: Any,
        make_part: Callable[[Any, Any, Any], Problem],
        loss: Loss,
        penalty: Penalty,
        fit_intercept: bool,
    ) -> None:
        self.loss, self.penalty, self.fit_intercept = loss, penalty, fit_intercept
        self.one_shot = not callable(chunks)
        self._chunks: Any = chunks if callable(chunks) else iter(chunks)
        self._make_part = make_part
        self._seen: list[tuple[float, ...]] = []  # of every chunk, from the first full pass
        self._complete = False

    def __repr__(self) -> str:
        free = "" if self.fit_intercept else ", no intercept"
        once = ", readable once" if self.one_shot else ""
        return f"ChunkedProblem({self.loss!r}, {self.penalty!r}{free}{once})"

    def parts(self) -> Iterator[Problem]:
        """One pass: each chunk as a Problem of its own, with raw weights. Errors name the chunk."""
        stream = self._chunks if self.one_shot else _fresh(self._chunks)
        first: Any = None
        labels = set[float]()
        marks: list[tuple[float, ...]] = []
        for number, chunk in enumerate(stream, start=1):
            part = self._part(chunk, number)
            marks.append(_fingerprint(part))
            if self._complete and marks != self._seen[:number]:
                raise ValueError(
                    f"chunk {number} is not what it was on the first pass: chunks() must give the same data in the "
                    "same order every time (rows are shuffled here, and noise belongs into the spread)."
                )
            spread = part.points.spread
            shape = (part.points.shape[1], part.points.p, f"{type(spread).__name__} (rank {spread.rank})")
            first = shape if first is None else first
            if shape != first:
                raise ValueError(
                    f"chunk {number} has {shape[0]} columns, p = {shape[1]:g} and {shape[2]} spreads; the first had "
                    f"{first[0]}, {first[1]:g} and {first[2]}. Give every chunk the same columns and kind of spread."
                )
            labels |= set(np.unique(part.y[part.weights > 0]).tolist())
            yield part
        if first is None:
            read = "this iterator has been read already; pass a callable that makes a new one"
            again = "on a later pass: chunks() must return a fresh iterator each time"
            raise ValueError(f"chunks gave no chunk at all{f' {again}' if self._complete else f': {read}'}.")
        if self._complete and len(marks) < len(self._seen):
            raise ValueError(f"chunks gave {len(self._seen)} chunks at first and {len(marks)} on a later pass.")
        if len(labels) < 2:
            raise ValueError(f"y has one class only ({labels or 'no weight at all'}) in all chunks; two are needed.")
        self._seen, self._complete = marks, True

    def objective(self, w: Any, b: float = 0.0) -> float:
        """P(w, b), rounded up: one pass."""
        if self.one_shot:
            raise TypeError("the stream can be read once only; pass a callable to from_chunks to judge a point by it.")
        risk = mass = count = 0.0
        for part in self.parts():
            w, b = part.hyperplane(w, b)
            risk += len(part.y) * part.risk_at(w, b, *part.margins_and_spreads(w, b))
            mass, count = mass + float(part.weights.sum()), count + len(part.y)
        return (self.penalty.value(w) + risk / mass) * (1.0 + count * 1e-18)

    def _part(self, chunk: Any, number: int) -> Problem:
        if not isinstance(chunk, (tuple, list)) or len(chunk) not in (2, 3):
            raise TypeError(
                f"chunk {number} must be (points, y) or (points, y, sample_weight), got {type(chunk).__name__}."
            )
        try:
            return self._make_part(chunk[0], chunk[1], chunk[2] if len(chunk) == 3 else None)
        except (TypeError, ValueError) as error:
            raise type(error)(f"chunk {number}: {error}") from None


def _fingerprint(part: Problem) -> tuple[float, ...]:
    """A few numbers that another chunk would hardly have."""
    n = len(part.y)
    rows = part.points.means[[0, n // 2, n - 1]]
    labels = float(part.y @ np.arange(1.0, n + 1.0))
    return (float(n), labels, float(part.weights.sum()), *(float(value) for value in np.asarray(rows.sum(axis=1))))


def _fresh(chunks: Chunks) -> Iterator[Any]:
    stream = chunks()
    if not hasattr(stream, "__iter__"):
        raise TypeError(f"chunks() must return an iterator of (points, y), got {type(stream).__name__}.")
    return iter(stream)
