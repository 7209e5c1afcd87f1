"""Pictures of uncertain points in the plane and of the boundaries that formulations draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustsvm.blocks import Floats
from robustsvm.checks import as_labels
from robustsvm.norms import row_norms
from robustsvm.points import UncertainPoints

# Okabe and Ito's palette: told apart with every common colour blindness, and in grey.
NEGATIVE, POSITIVE = "#0072B2", "#D55E00"
LINES = (("#000000", "-"), ("#009E73", "--"), ("#CC79A7", "-."), ("#E69F00", ":"), ("#56B4E9", (0, (5, 1, 1, 1, 1, 1))))


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plotting needs matplotlib: pip install 'robustsvm[plot]'.") from None
    return plt.subplots(figsize=(7.0, 5.5), layout="constrained")[1]


def outlines(points: UncertainPoints, gamma: float = 1.0, corners: int = 120) -> Floats:
    """The edge of each point's set of radius `gamma` in the plane, shape (n, corners, 2).

    The set {A u : ||u||_p <= 1} is traced through its corners on a fine net of directions; for
    factors with more than two columns (a projection of a higher ball) its support points are taken.
    """
    if points.shape[1] != 2:
        raise ValueError(f"only points in the plane can be drawn, these have {points.shape[1]} features.")
    angle = np.linspace(0.0, 2.0 * np.pi, corners)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    means = np.asarray(points.means.toarray() if hasattr(points.means, "toarray") else points.means, np.float64)
    A = points.spread.factor()
    if A.shape[2] == 2:
        u = circle / row_norms(circle, points.p)[:, None]
        edge = np.einsum("ndr,kr->nkd", A, u)
    else:
        edge = np.stack([points.spread.displacements(direction, points.q) for direction in circle], axis=1)
    return np.asarray(means[:, None, :] + gamma * edge)


def plot_points(points: Any, y: Any, *, gamma: float = 1.0, ax: Any = None) -> Any:
    """Draw points of the plane with their sets of radius `gamma`, coloured and marked by class.

    Parameters
    ----------
    points : UncertainPoints
        Points with two features.
    y : (n,) array of -1 and +1
        Labels.
    gamma : float
        Radius of the sets drawn: 1 gives one-sigma ellipses for Gaussian points.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    points = points if isinstance(points, UncertainPoints) else UncertainPoints(points)
    labels = as_labels(y, len(points))
    edges = outlines(points, gamma)
    ax = _axes(ax)
    for label, colour, marker in ((-1, NEGATIVE, "o"), (1, POSITIVE, "^")):
        chosen = labels == label
        for edge in edges[chosen]:
            ax.fill(edge[:, 0], edge[:, 1], facecolor=colour, alpha=0.12, edgecolor=colour, linewidth=0.6)
        centre = points[chosen].means
        centre = centre.toarray() if hasattr(centre, "toarray") else centre
        ax.scatter(centre[:, 0], centre[:, 1], s=18, color=colour, marker=marker, label=f"class {label:+d}", zorder=3)
    names = points.feature_names if points.feature_names is not None else ("feature 0", "feature 1")
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])
    return ax


def plot_boundaries(hyperplanes: dict[str, tuple[Any, float]], *, ax: Any, margins: bool = False) -> Any:
    """Draw boundaries w.x + b = 0 over what `ax` shows, each with a colour and a dash of its own.

    Parameters
    ----------
    hyperplanes : dict of name -> (w, b)
        What to draw; names go into the legend.
    ax : matplotlib Axes
        Axes with the points; its limits are kept.
    margins : bool
        Whether to draw the lines w.x + b = -1 and +1 too, thinner.
    """
    xlim, ylim = ax.get_xlim(), ax.get_ylim()
    for k, (name, (w, b)) in enumerate(hyperplanes.items()):
        colour, dash = LINES[k % len(LINES)]
        w = np.asarray(w, np.float64).ravel()
        if not w.any():
            ax.plot([], [], color=colour, linestyle=dash, label=f"{name} (w = 0: no boundary)")
            continue
        for level, width in ((0.0, 2.0), (-1.0, 0.8), (1.0, 0.8)) if margins else ((0.0, 2.0),):
            foot = w * (level - b) / (w @ w)
            reach = np.hypot(xlim[1] - xlim[0], ylim[1] - ylim[0]) + np.abs([*xlim, *ylim]).max()
            ends = foot + np.outer([-reach, reach], [-w[1], w[0]]) / np.linalg.norm(w)
            label = name if level == 0.0 else None
            ax.plot(ends[:, 0], ends[:, 1], color=colour, linestyle=dash, linewidth=width, label=label)
    ax.set_xlim(xlim)
    ax.set_ylim(ylim)
    ax.legend(fontsize=9)
    return ax
