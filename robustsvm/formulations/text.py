"""LaTeX of the formulations, with the numbers they have at the moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from robustsvm.formulations.base import Formulation


def number(value: Any) -> str:
    """A number in LaTeX, or the range of an array."""
    array = np.asarray(value, np.float64)
    if array.ndim:
        return rf"[{number(array.min())},\,{number(array.max())}]"
    text = f"{float(array):.4g}"
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if mantissa != "1" else rf"10^{{{int(exponent)}}}"


def brief(value: Any) -> str:
    """A number in plain text, the range of an array, or a question mark."""
    if value is None:
        return "?"
    array = np.asarray(value)
    return f"{float(array):g}" if array.ndim == 0 else f"{array.min():g}..{array.max():g}"


def average_risk(formulation: Formulation) -> str:
    """The objective: penalty plus average of the slacks."""
    n = len(formulation._template.y)
    weights = formulation._template.weights
    c = "" if (weights == 1).all() else "c_i "
    risk = rf"\frac{{1}}{{{n}}} \sum_{{i=1}}^{{{n}}} {c}\xi_i"
    if "lam" in formulation.parameters:
        return rf"\frac{{{number(formulation.parameters['lam'].value)}}}{{2}} \|w\|_2^2 + {risk}"
    return risk


def program(objective: str, constraints: list[str]) -> str:
    """Min ... subject to ..., aligned."""
    rows = [rf"\min_{{w, b, \xi}}\quad & {objective}"]
    openings = [r"\text{s.t.}", *[""] * len(constraints)]
    rows += [rf"{opening}\quad & {line}" for opening, line in zip(openings, constraints, strict=False)]
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def dual_norm(p: float) -> str:
    """The subscript of the norm dual to p."""
    if p == 1:
        return r"\infty"
    return "1" if np.isinf(p) else f"{p / (p - 1):.4g}"
