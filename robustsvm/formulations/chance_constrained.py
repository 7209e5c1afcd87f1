"""The chance-constrained SVM: every margin holds with probability 1 - epsilon."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from scipy.special import ndtri

from robustsvm.blocks import Floats
from robustsvm.checks import as_per_sample
from robustsvm.formulations.text import decision, number, program, required_margin
from robustsvm.formulations.worst_case import WorstCaseSVM
from robustsvm.losses import Hinge
from robustsvm.penalties import Ridge
from robustsvm.problem import Problem

TILDE = r"\tilde x_i"
NOISES = ("gaussian", "any", "symmetric", "unimodal")


def kappa(epsilon: Any, noise: str = "gaussian") -> Floats:
    r"""How many standard deviations a chance constraint must keep away from the boundary.

    The smallest k with :math:`P[u \le k] \ge 1 - \epsilon` for every noise u of mean 0 and variance 1

    - that is Gaussian: :math:`\Phi^{-1}(1 - \epsilon)`, 0 < epsilon <= 1/2;
    - of any kind: :math:`\sqrt{(1-\epsilon)/\epsilon}`, 0 < epsilon < 1 (Cantelli);
    - that is symmetric: :math:`\sqrt{1/(2\epsilon)}`, 0 < epsilon < 1/2;
    - symmetric and unimodal: :math:`\sqrt{2/(9\epsilon)}` up to epsilon = 1/6, then
      :math:`\sqrt3 (1 - 2\epsilon)`, 0 < epsilon < 1/2.

    Examples
    --------
    >>> [round(float(kappa(0.1, noise)), 3) for noise in NOISES]
    [1.282, 3.0, 2.236, 1.491]
    """
    if noise not in NOISES:
        raise ValueError(f"noise must be one of {', '.join(NOISES)}, got {noise!r}.")
    epsilon = np.asarray(epsilon, np.float64)
    highest, closed = {"gaussian": (0.5, True), "any": (1.0, False)}.get(noise, (0.5, False))
    inside = (epsilon > 0) & ((epsilon <= highest) if closed else (epsilon < highest))
    if not inside.all():
        interval = f"(0, {highest:g}{']' if closed else ')'}"
        worst = epsilon[~inside].flat[0]
        raise ValueError(
            f"epsilon must lie in {interval} for noise={noise!r}, got {worst:g}: it is the probability with which a "
            "margin may be missed, and above that range the constraint is not convex or says nothing."
        )
    if epsilon.min() < 1e-12:
        raise ValueError(f"epsilon must lie above 1e-12, got {epsilon.min():g}: no margin could be that safe.")
    if noise == "gaussian":
        return np.maximum(-ndtri(epsilon), 0.0)
    if noise == "any":
        return np.sqrt((1.0 - epsilon) / epsilon)
    if noise == "symmetric":
        return np.sqrt(1.0 / (2.0 * epsilon))
    return np.where(epsilon <= 1 / 6, np.sqrt(2.0 / (9.0 * epsilon)), np.sqrt(3.0) * (1.0 - 2.0 * epsilon))


class ChanceConstrained(WorstCaseSVM):
    """See `chance_constrained`."""

    name = "chance_constrained"

    def __init__(self, template: Problem, parameters: dict[str, Any], noise: str) -> None:
        self.noise = noise
        epsilon = parameters["epsilon"]
        self._kappa = cp.CallbackParam(lambda: kappa(epsilon.value, noise), epsilon.shape, nonneg=True)
        super().__init__(template, parameters)

    def _radius(self) -> Any:
        return self._kappa

    def _latex(self) -> str:
        value = self.parameters["epsilon"].value
        several = np.ndim(value) > 0
        epsilon = r"\epsilon_i" if several else number(value)
        note = rf",\quad \epsilon_i \in {number(value)}" if several else ""
        law = {"gaussian": r"\mathcal N(x_i, \Sigma_i)"}.get(self.noise, rf"(x_i, \Sigma_i)\ \text{{{self.noise}}}")
        event = rf"y_i({decision(self, TILDE)}) \ge {required_margin(self)} - \xi_i"
        chance = rf"P[\,{event}\,] \ge 1 - {epsilon},\quad \tilde x_i \sim {law}{note}"
        return program(self, [chance, rf"\Leftrightarrow\ {self._robust_constraint()}", r"\xi_i \ge 0"])


def chance_constrained(
    points: Any,
    y: Any,
    *,
    lam: float,
    epsilon: Any = 0.1,
    noise: str = "gaussian",
    sample_weight: Any = None,
    fit_intercept: bool = True,
) -> ChanceConstrained:
    r"""The SVM whose margins hold with probability at least 1 - epsilon each.

    .. math::

        \min_{w,b,\xi}\ \tfrac\lambda2 \|w\|^2 + \tfrac1n \sum_i c_i \xi_i \quad \text{s.t.}\quad
        P[\,y_i(w^\top \tilde x_i + b) \ge 1 - \xi_i\,] \ge 1 - \epsilon, \quad \xi_i \ge 0

    which is the worst case over ellipsoids of radius kappa(epsilon), see `kappa`. ([CJ]_ prints
    sqrt(epsilon/(1-epsilon)) for it and calls it exact for normal noise; it is the inverse of that,
    exact for the worst distribution, and normal noise needs less.)

    Parameters
    ----------
    points : UncertainPoints
        Means and covariances; p must be 2.
    y : (n,) array of -1 and +1
        Labels.
    lam : float
        Weight of the penalty. ``parameters["lam"]`` afterwards.
    epsilon : float or (n,) array
        Probability with which a margin may be missed. ``parameters["epsilon"]`` afterwards.
    noise : {"gaussian", "any", "symmetric", "unimodal"}
        What is known of the noise besides mean and covariance; "any" assumes nothing more.
    sample_weight : (n,) array, optional
        Weights c_i, divided by their mean.
    fit_intercept : bool
        Whether b is free.

    Returns
    -------
    Formulation
        ``.solve()`` gives a certified `Solution`.

    References
    ----------
    .. [CJ] Couellan and Jan, Feature uncertainty bounding schemes for large robust nonlinear SVM
       classifiers, arXiv:1706.09795.

    Examples
    --------
    >>> import robustsvm as rs
    >>> pts = rs.UncertainPoints([[-2.0], [-1.0], [1.0], [2.0]], std=0.2)
    >>> f = rs.formulations.chance_constrained(pts, [-1, -1, 1, 1], lam=0.1, epsilon=0.1)
    >>> f.solve().w.round(3)
    array([1.345])
    >>> f.parameters["epsilon"].value = 0.5
    >>> f.solve().w.round(3)
    array([1.])
    """
    template = Problem(points, y, Hinge(), penalty=Ridge(lam), sample_weight=sample_weight, fit_intercept=fit_intercept)
    if template.points.p != 2:
        raise ValueError(f"chance_constrained needs means and covariances, p = 2; these points have p = {points.p:g}.")
    chance = as_per_sample(epsilon, len(template.y), "epsilon")
    kappa(chance, noise)  # raises outside the range
    parameters = {
        "lam": cp.Parameter(pos=True, name="lam", value=float(lam)),
        "epsilon": cp.Parameter(chance.shape, name="epsilon", value=chance),
    }
    return ChanceConstrained(template, parameters, noise)
