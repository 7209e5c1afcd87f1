"""Imports point one way, names load lazily, and the README's lines run."""

import ast
import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import robustsvm

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "robustsvm"

# From the ground up: a module imports only from what stands before it.
GROUND = [
    "errors",
    "scalars",
    "blocks",
    "columns",
    "norms",
    "atoms",
    "diagonals",
    "matrices",
    "spreads",
    "checks",
    "indexing",
    "points",
    "hyperplanes",
]
MATHEMATICS = [
    "losses",
    "penalties",
    "dual",
    "chunks",
    "scans",
    "problem",
    "solution",
    "kinks",
    "newton",
    "smoothing",
    "curvature",
    "survey",
]
FORMULATIONS = [
    *(
        f"formulations.{name}"
        for name in ("scaling", "frame", "text", "chain", "cones", "parameters", "user_constraints", "judge")
    ),
    *(f"formulations.{name}" for name in ("base", "nominal", "worst_case", "chance_constrained", "expected_hinge")),
    "formulations",
]
LAYERS = [
    *GROUND,
    *MATHEMATICS,
    *FORMULATIONS,
    *(
        f"solvers.{name}"
        for name in (
            "exact",
            "progress",
            "books",
            "batch",
            "minibatch",
            "metric",
            "one_shot",
            "stochastic",
            "classic",
            "choice",
        )
    ),
    "solvers",
    "certification",
    "regularisation",
    "metrics",
    "uncertainty",
    "datasets",
    "testing",
    "io",
    "plotting",
]


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        yield name.removesuffix(".__init__"), path


def imported(path):
    """The robustsvm modules a file imports, at the top or inside a function, but not for type checking only."""
    tree = ast.parse(path.read_text())
    skipped = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("robustsvm"):
            base = node.module.removeprefix("robustsvm").removeprefix(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}".removeprefix(".")
                yield inner if inner in LAYERS else base
        elif isinstance(node, ast.Import):
            yield from (alias.name.removeprefix("robustsvm.") for alias in node.names if "robustsvm." in alias.name)


def test_every_module_has_its_place():
    assert {name for name, _ in modules()} - {"__init__"} == set(LAYERS)
    assert len(set(LAYERS)) == len(LAYERS)


def test_imports_point_down():
    for name, path in modules():
        if name == "__init__":
            continue
        for other in imported(path):
            assert other in LAYERS, f"{name} imports {other or 'the package itself'}"
            assert LAYERS.index(other) < LAYERS.index(name), f"{name} imports {other}, which lies above it"


def test_importing_robustsvm_loads_neither_cvxpy_nor_scikit_learn():
    code = (
        "import sys, robustsvm as rs; rs.UncertainPoints([[1.0]]); rs.Problem; rs.losses; rs.Dual; rs.metrics; dir(rs);"
        "heavy = {'cvxpy', 'sklearn', 'matplotlib', 'pandas'} & set(sys.modules); assert not heavy, heavy;"
        "rs.formulations; assert 'cvxpy' in sys.modules and 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_names_exist_and_certify_stays_a_function():
    for name in robustsvm.__all__:
        assert getattr(robustsvm, name) is not None
    importlib.import_module("robustsvm.certification")  # a module of the function's name would shadow it
    assert callable(robustsvm.certify)
    assert callable(robustsvm.solve)


def test_the_version_is_said_once():
    text = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{robustsvm.__version__}"' in text
    assert f"version: {robustsvm.__version__}" in (ROOT / "CITATION.cff").read_text()


def test_the_lines_of_the_readme_run():
    failed, run = doctest.testfile(
        str(ROOT / "README.md"), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert run >= 10
    assert not failed


def test_no_module_outgrows_a_reader():
    for name, path in modules():
        assert len(path.read_text().splitlines()) <= 300, name
