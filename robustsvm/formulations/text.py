"""A formulation in LaTeX and in plain text, with the numbers and options it has at the moment."""

from __future__ import annotations

import re
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


def decision(formulation: Formulation, x: str = "x_i") -> str:
    """w.x + b, or w.x where there is no intercept."""
    return rf"w^\top {x} + b" if formulation._template.fit_intercept else rf"w^\top {x}"


def required_margin(formulation: Formulation) -> str:
    """The margin asked of a sample: a number, or r_i where it differs between samples."""
    margin = formulation._template.margin
    return number(margin[0]) if (margin == margin[0]).all() else "r_i"


def dual_norm(p: float) -> str:
    """The subscript of the norm dual to p."""
    if p == 1:
        return r"\infty"
    return "1" if np.isinf(p) else f"{p / (p - 1):.4g}"


def program(formulation: Formulation, constraints: list[str]) -> str:
    """Minimise penalty and average slack subject to the constraints, the ball and the user's own."""
    template, parameters = formulation._template, formulation.parameters
    n, weights = len(template.y), template.weights
    equal = bool((weights == 1).all())
    objective = rf"\frac{{1}}{{{n}}} \sum_{{i=1}}^{{{n}}} {'' if equal else 'c_i '}\xi_i"
    lines = list(constraints)
    if "lam" in parameters:
        objective = rf"\frac{{{number(parameters['lam'].value)}}}{{2}} \|w\|_2^2 + {objective}"
    else:
        lines.append(rf"\|w\|_2 \le {number(parameters['norm_bound'].value)}")
    lines += [rf"\texttt{{{_escaped(constraint)}}}" for constraint in formulation._constraints_of_user]
    if not equal:
        lines.append(rf"c_i \in {number(weights)}\ \text{{(weights, of mean 1)}}")
    if required_margin(formulation) == "r_i":
        lines.append(rf"r_i \in {number(template.margin)}\ \text{{(margins)}}")
    variables = r"w, b, \xi" if template.fit_intercept else r"w, \xi"
    rows = [rf"\min_{{{variables}}}\quad & {objective}"]
    openings = [r"\text{s.t.}", *[""] * len(lines)]
    rows += [rf"{opening}\quad & {line}" for opening, line in zip(openings, lines, strict=False)]
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def _escaped(constraint: Any) -> str:
    return re.sub(r"([_%&#{}$])", r"\\\1", str(constraint))


_PLAIN = (
    (r"\\begin\{aligned\}\n|\n?\\end\{aligned\}|\\left|\\right|\\!|\\,", ""),
    (r"\\min_\{([^}]*)\}\\quad & ", r"minimise over \1:  "),
    (r"\\text\{s\.t\.\}\\quad & ", "  subject to  "),
    (r"\n\\quad & ", "\n              "),
    (r" \\\\\n", "\n"),
    (r"\\frac\{1\}\{(\d+)\} \\sum_\{i=1\}\^\{\d+\} ", r"1/\1 sum_i "),
    (r"\\t?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2"),
    (r"\\cdot 10\^\{(-?\d+)\}", r"* 10^\1"),
    (r"10\^\{(-?\d+)\}", r"10^\1"),
    (r"\\tilde x", "X"),
    (r"\\mathcal N", "N"),
    (r"\\(?:text|texttt)\{([^{}]*)\}", r"\1"),
    (r"\\ge\b", ">="),
    (r"\\le\b", "<="),
    (r"\\in\b", "in"),
    (r"\\sim\b", "~"),
    (r"\\infty", "inf"),
    (r"\\Leftrightarrow", "that is"),
    (r"\^\\top", "^T"),
    (r"\\\|", "||"),
    (r"_\{([^{}]*)\}", r"_\1"),
    (r"\\varphi", "phi"),
    (r"\\quad", " "),
    (r"\\ ", " "),
    (r"\\([A-Za-z]+|[_%&#{}$])", r"\1"),
)


def plain(latex: str) -> str:
    """The same in characters that a terminal has."""
    lines = latex
    for pattern, replacement in _PLAIN:
        lines = re.sub(pattern, replacement, lines)
    return lines
