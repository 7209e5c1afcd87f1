"""Pictures of uncertain points in the plane and of the boundaries that formulations draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustsvm.blocks import Floats, dense
from robustsvm.checks import as_labels, as_per_sample
from robustsvm.hyperplanes import hyperplane_of
from robustsvm.norms import row_norms
from robustsvm.points import UncertainPoints

# Okabe and Ito's palette: told apart with every common colour blindness, and in grey.
NEGATIVE, POSITIVE = "#0072B2", "#D55E00"
COLOURS = ("#000000", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plotting needs matplotlib: pip install 'robustsvm[plot]'.") from None
    return plt.subplots(figsize=(7.0, 6.0), layout="constrained")[1]


def _legend(ax: Any) -> None:
    """Below the picture, where it covers no line."""
    ax.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.11), ncol=2, frameon=False)


def outlines(points: UncertainPoints, gamma: Any = 1.0, corners: int = 120) -> Floats:
    """The edge of each point's set of radius `gamma` in the plane, shape (n, corners, 2).

    The set {A u : ||u||_p <= 1} is traced along a net of directions u; for factors that do not have
    two columns (the shadow of another ball) its support points are taken.
    """
    if points.shape[1] != 2:
        raise ValueError(f"only points in the plane can be drawn, these have {points.shape[1]} features.")
    radius = as_per_sample(gamma, len(points), "gamma")
    if (radius < 0).any():
        raise ValueError(f"gamma must be >= 0, got {radius.min():g}.")
    angle = np.linspace(0.0, 2.0 * np.pi, corners)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    means = dense(points.means)
    A = points.spread.factor()
    if A.shape[2] == 2:
        u = circle / row_norms(circle, points.p)[:, None]
        edge = np.einsum("ndr,kr->nkd", A, u)
    else:
        edge = np.stack([points.spread.displacements(direction, points.q) for direction in circle], axis=1)
    return np.asarray(means[:, None, :] + np.broadcast_to(radius, len(points))[:, None, None] * edge)


def plot_points(points: Any, y: Any, *, gamma: Any = 1.0, ax: Any = None) -> Any:
    """Draw points of the plane with their sets of radius `gamma`, coloured and marked by class.

    Parameters
    ----------
    points : UncertainPoints
        Points with two features.
    y : (n,) array of -1 and +1
        Labels.
    gamma : float or (n,) array
        Radius of the sets drawn: 1 gives one-sigma ellipses for Gaussian points.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        Hand it to `plot_boundaries`.
    """
    points = points if isinstance(points, UncertainPoints) else UncertainPoints(points)
    labels = as_labels(y, len(points), both=False)
    edges = outlines(points, gamma)
    ax = _axes(ax)
    for label, colour, marker in ((-1, NEGATIVE, "o"), (1, POSITIVE, "^")):
        chosen = np.flatnonzero(labels == label)
        if not len(chosen):
            continue
        for edge in edges[chosen]:
            ax.fill(edge[:, 0], edge[:, 1], facecolor=colour, alpha=0.12, edgecolor=colour, linewidth=0.6)
        centre = dense(points[chosen].means)
        ax.scatter(centre[:, 0], centre[:, 1], s=18, color=colour, marker=marker, label=f"class {label:+d}", zorder=3)
    names = points.feature_names if points.feature_names is not None else ("feature 0", "feature 1")
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])
    _legend(ax)
    return ax


def plot_boundaries(models: dict[str, Any], *, ax: Any, margins: bool = False) -> Any:
    """Draw boundaries w.x + b = 0 over what `ax` shows, each with its own pair of colour and dash (25 of them).

    Parameters
    ----------
    models : dict of name -> Solution, fitted linear model or (w, b)
        What to draw; names go into the legend.
    ax : matplotlib Axes
        Axes with the points, as `plot_points` returns them; the limits are kept.
    margins : bool
        Whether to draw the lines w.x + b = -1 and +1 too, thinner.
    """
    if not isinstance(models, dict):
        raise TypeError(f'models must be a dict such as {{"nominal": solution}}, got {type(models).__name__}.')
    xlim, ylim = ax.get_xlim(), ax.get_ylim()
    corners = np.array([[x, y] for x in xlim for y in ylim])
    for k, (name, model) in enumerate(models.items()):
        w, b = hyperplane_of(model, n_features=2)
        style = {"color": COLOURS[k % 5], "linestyle": DASHES[(k + k // 5) % 5]}
        if not w.any():
            ax.plot([], [], **style, label=f"{name} (w = 0: no boundary)")
            continue
        sides = corners @ w + b
        outside = " (outside the picture)" if (sides > 0).all() or (sides < 0).all() else ""
        for level, width in ((0.0, 2.0), (-1.0, 0.8), (1.0, 0.8)) if margins else ((0.0, 2.0),):
            foot = w * (level - b) / (w @ w)
            reach = np.hypot(xlim[1] - xlim[0], ylim[1] - ylim[0]) + np.abs([*xlim, *ylim, *foot]).max()
            ends = foot + np.outer([-reach, reach], [-w[1], w[0]]) / np.linalg.norm(w)
            label = name + outside if level == 0.0 else None
            ax.plot(ends[:, 0], ends[:, 1], **style, linewidth=width, label=label)
    ax.set_xlim(xlim)
    ax.set_ylim(ylim)
    _legend(ax)
    return ax
