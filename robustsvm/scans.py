"""What a problem knows of the sizes of its data, for scaling, centring and bounds on rounding errors."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from robustsvm.blocks import Floats
from robustsvm.columns import ColumnScan, scan_columns
from robustsvm.points import UncertainPoints

# How much of double precision's rounding is left in a long double: three digits less on x86, all of it on others.
LONGER = max(1e-3, 2.0 * float(np.finfo(np.longdouble).eps) / float(np.finfo(np.float64).eps))

SCANS = ("_scan", "columns", "column_maxima", "column_sizes", "offset")  # computed once, when first needed


class Scanned:
    """The part of `Problem` that looks at whole columns."""

    points: UncertainPoints
    weights: Floats
    margin: Floats
    fit_intercept: bool

    @cached_property
    def columns(self) -> ColumnScan:
        """Sums over the means, less `offset`."""
        scan = self._scan
        return scan if self.offset is None else scan_columns(self.points.means, self.offset)

    @cached_property
    def column_sizes(self) -> tuple[Floats, Floats]:
        """How large the terms x_i and A_i e_i of the dual vector are, column by column: for rounding bounds."""
        largest, spread = float(self.weights.max()), self.points.spread
        variances = spread.mean_variances() * max(1, spread.rank)
        return largest * self.columns.sizes, largest * np.sqrt(variances)

    @cached_property
    def column_maxima(self) -> tuple[Floats, Floats]:
        """The largest |x_ij| (less `offset`) and the largest standard deviation times sqrt(rank), column by column."""
        spread = self.points.spread
        return self.columns.largest, spread.largest_deviations() * np.sqrt(max(1, spread.rank))

    @cached_property
    def offset(self) -> Floats | None:
        """Column means, where the data lie so far from the origin that sums lose digits; else None.

        With an intercept the dual vector is a sum with balanced signs, so a common offset of the means
        drops out of it; taken off before the sum, its rounding does too. Costs a copy of each block.
        """
        if not self.fit_intercept or hasattr(self.points.means, "indptr"):
            return None
        centre = self._scan.means
        return centre if (centre**2 > 1e4 * self._scan.variances).any() else None

    @cached_property
    def _scan(self) -> ColumnScan:
        return scan_columns(self.points.means)

    def margin_rounding(self, w: Floats, b: float) -> tuple[float, float]:
        """How far rounding can have moved a margin deficit and a spread at (w, b): d-term sums, any order."""
        data, spread = self.column_maxima
        unit = 0.5 * float(np.finfo(np.float64).eps) * (len(w) + 8)
        size = float(data @ np.abs(w)) + float(np.abs(self.margin).max())
        if self.offset is None:
            size += abs(b)
        else:  # the sum of these two large numbers is taken in longer precision, where the machine has one
            size += LONGER * (float(np.abs(self.offset) @ np.abs(w)) + abs(b))
        return unit * size, unit * float(spread @ np.abs(w))
