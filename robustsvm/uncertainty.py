"""Where uncertainty comes from: spreads of points from what is known about how they were made."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustsvm.checks import as_floats, require_finite
from robustsvm.points import UncertainPoints
from robustsvm.scalars import as_count, as_number


def image_shifts(images: Any, pixels: float = 1.0, *, shape: tuple[int, int] | None = None) -> UncertainPoints:
    r"""Images whose position is known up to a shift: factors of rank 2.

    To first order a shift by (h, v) changes an image by :math:`h\, \partial_x I + v\, \partial_y I`. With
    shifts of standard deviation `pixels` in each direction its covariance is
    :math:`\text{pixels}^2 (\partial_x I\, \partial_x I^\top + \partial_y I\, \partial_y I^\top)`, of rank 2 ([GSU]_
    4.2.2). Derivatives are central differences; outside an image there is nothing.

    Parameters
    ----------
    images : (n, height, width) array, or (n, height * width) with `shape`
        Pixel values.
    pixels : float
        Standard deviation of the shift, horizontally and vertically.
    shape : (height, width), optional
        Of each image, where they come as rows; square by default.

    Returns
    -------
    UncertainPoints
        Means of shape (n, height * width), spread a factor of shape (n, height * width, 2), in the precision of the
        images (float32 stays float32).

    References
    ----------
    .. [GSU] Tzelepis, Mezaris and Patras, Linear Maximum Margin Classifier for Learning from
       Uncertain Data, IEEE TPAMI 2018.

    Examples
    --------
    >>> import numpy as np
    >>> ramp = np.tile(np.arange(5.0), (1, 5, 1))  # brighter from left to right: a step right darkens by 1
    >>> points = image_shifts(ramp, pixels=0.5)
    >>> points.spread.factor()[0, 12]  # the middle pixel; by columns: horizontal, vertical
    array([0.5, 0. ])
    """
    array = as_floats(images, "images")
    pixels = as_number(pixels, "pixels", at_least=0.0)
    if array.ndim == 2:
        side = round(np.sqrt(array.shape[1]))
        height, width = (side, side) if shape is None else _as_shape(shape)
        if height * width != array.shape[1]:
            raise ValueError(
                f"images of {array.shape[1]} pixels are not {height} x {width}; pass shape=(height, width), "
                "or images[None] if this is one image."
            )
        array = array.reshape(len(array), height, width)
    elif shape is not None and array.shape[1:] != _as_shape(shape):
        raise ValueError(f"shape is {_as_shape(shape)}, but images have shape {array.shape[1:]}.")
    if array.ndim != 3:
        raise ValueError(f"images must be (n, height, width) or (n, height * width), got shape {array.shape}.")
    if array.size == 0:
        raise ValueError(f"images is empty: shape {array.shape}.")
    require_finite(array, "images")
    n, height, width = array.shape
    factor = np.zeros((n, height, width, 2), array.dtype)
    half = array.dtype.type(0.5 * pixels)
    factor[:, :, :-1, 0] += half * array[:, :, 1:]
    factor[:, :, 1:, 0] -= half * array[:, :, :-1]
    factor[:, :-1, :, 1] += half * array[:, 1:, :]
    factor[:, 1:, :, 1] -= half * array[:, :-1, :]
    return UncertainPoints(array.reshape(n, -1), factor=factor.reshape(n, height * width, 2))


def _as_shape(shape: Any) -> tuple[int, int]:
    if not isinstance(shape, (tuple, list)) or len(shape) != 2:
        raise TypeError(f"shape must be (height, width), got {shape!r}.")
    return as_count(shape[0], "shape[0]"), as_count(shape[1], "shape[1]")
