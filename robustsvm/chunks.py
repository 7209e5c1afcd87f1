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
        self._length: int | None = None

    def __repr__(self) -> str:
        free = "" if self.fit_intercept else ", no intercept"
        once = ", readable once" if self.one_shot else ""
        return f"ChunkedProblem({self.loss!r}, {self.penalty!r}{free}{once})"

    def parts(self) -> Iterator[Problem]:
        """One pass: each chunk as a Problem of its own, with raw weights. Errors name the chunk."""
        stream = self._chunks if self.one_shot else _fresh(self._chunks)
        first: Any = None
        length, labels = 0, set[float]()
        for number, chunk in enumerate(stream, start=1):
            part = self._part(chunk, number)
            shape = (part.points.shape[1], part.points.p, type(part.points.spread).__name__)
            first = shape if first is None else first
            if shape != first:
                raise ValueError(
                    f"chunk {number} has {shape[0]} columns, p = {shape[1]:g} and {shape[2]} spreads; "
                    f"the first had {first[0]}, {first[1]:g} and {first[2]}."
                )
            length += len(part.y)
            labels |= set(np.unique(part.y[part.weights > 0]).tolist())
            yield part
        if first is None:
            again = "" if self._length is None else " on a later pass: chunks() must return a fresh iterator each time"
            raise ValueError(f"chunks gave no chunk at all{again}.")
        if self._length is not None and length != self._length:
            raise ValueError(f"chunks gave {self._length} samples at first and {length} on a later pass.")
        if len(labels) < 2:
            raise ValueError(f"y has one class only ({labels or 'no weight at all'}) in all chunks; two are needed.")
        self._length = length

    def _part(self, chunk: Any, number: int) -> Problem:
        if not isinstance(chunk, (tuple, list)) or len(chunk) not in (2, 3):
            raise TypeError(
                f"chunk {number} must be (points, y) or (points, y, sample_weight), got {type(chunk).__name__}."
            )
        try:
            return self._make_part(chunk[0], chunk[1], chunk[2] if len(chunk) == 3 else None)
        except (TypeError, ValueError) as error:
            raise type(error)(f"chunk {number}: {error}") from None


def _fresh(chunks: Chunks) -> Iterator[Any]:
    stream = chunks()
    if not hasattr(stream, "__iter__"):
        raise TypeError(f"chunks() must return an iterator of (points, y), got {type(stream).__name__}.")
    return iter(stream)
