"""The CVXPY objects: parameters, recompilation, printing, solver chain, options."""

import sys
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest

import robustsvm as rs
from robustsvm.formulations import chain
from tests.cases import make_points, make_problem

MAKERS = {
    "nominal": rs.formulations.nominal,
    "worst_case": rs.formulations.worst_case,
    "chance_constrained": rs.formulations.chance_constrained,
    "expected_hinge": rs.formulations.expected_hinge,
}
EVERY = pytest.mark.parametrize("name", MAKERS)


@EVERY
@pytest.mark.parametrize("intercept", [True, False])
def test_the_stated_problem_is_the_one_solved(name, intercept):
    points, y = make_points("full")
    weights = np.random.default_rng(0).exponential(size=40)
    f = MAKERS[name](points, y, lam=0.05, sample_weight=weights, fit_intercept=intercept)
    solution = f.solve()
    assert solution.gap <= 1e-6
    assert solution.objective == f.problem.objective(solution.w, solution.b)
    np.testing.assert_allclose(f.w.value, solution.w, atol=1e-12)
    np.testing.assert_allclose(f.b.value, solution.b, atol=1e-9)
    np.testing.assert_allclose(rs.solve(f.problem).objective, solution.objective, rtol=2e-6)
    assert intercept or solution.b == 0
    assert rs.certify(f.problem, solution.w, solution.b, dual=solution.dual, effort=0).gap <= 1e-6


@EVERY
def test_a_parameter_changes_without_a_second_compilation(name):
    points, y = make_points("full")
    f = MAKERS[name](points, y, lam=0.05)
    assert f.cvxpy_problem.is_dcp(dpp=True)
    f.solve()
    before = f.cvxpy_problem
    f.parameters["lam"].value = 0.5
    again = f.solve()
    fresh = MAKERS[name](points, y, lam=0.5).solve()
    np.testing.assert_allclose(again.objective, fresh.objective, rtol=2e-6)
    if name != "expected_hinge":  # which may add cuts, and a CVXPY problem is immutable
        assert f.cvxpy_problem is before
    assert before.compilation_time < 1.0


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, np.inf])
def test_every_norm_is_dpp_in_its_radius(p):
    points, y = make_points("diagonal", p)
    f = rs.formulations.worst_case(points, y, lam=0.05, gamma=np.ones(40))
    assert f.cvxpy_problem.is_dcp(dpp=True)
    f.solve()
    f.parameters["gamma"].value = np.full(40, 0.5)
    np.testing.assert_allclose(
        f.solve().objective, rs.formulations.worst_case(points, y, lam=0.05, gamma=0.5).solve().objective, rtol=2e-6
    )


@EVERY
def test_the_cvxpy_problem_can_be_solved_by_hand(name):
    points, y = make_points("diagonal")
    f = MAKERS[name](points, y, lam=0.05)
    solution = f.solve(**({"polish": False} if name == "expected_hinge" else {}))
    f.cvxpy_problem.solve(solver="ECOS")
    assert rs.certify(f.problem, f.w.value, f.b.value).gap <= 1e-5
    np.testing.assert_allclose(f.problem.objective(f.w.value, f.b.value), solution.objective, rtol=1e-5)


@EVERY
def test_it_shows_itself_with_its_numbers(name):
    points, y = make_points("full")
    f = MAKERS[name](points, y, lam=0.005)
    text, latex = str(f), f._repr_latex_()
    assert text.startswith(f"{name}(lam=0.005")
    assert "40 points, 4 features" in text
    assert "minimise over w, b, xi:  0.005/2 ||w||_2^2 + 1/40 sum_i xi_i" in text
    assert "subject to" in text
    assert "\\" not in text
    assert f.latex() in latex
    assert "0.005" in latex
    assert latex.count("{") == latex.count("}")
    assert r"\frac{1}{40}" in latex
    f.parameters["lam"].value = 1e-5
    assert "10^{-5}" in f._repr_latex_()


def test_latex_names_the_norm_the_radius_and_the_chance():
    points, y = make_points("diagonal", np.inf)
    assert r"0.25 \|A_i^\top w\|_{1}" in rs.formulations.worst_case(points, y, lam=0.1, gamma=0.25)._repr_latex_()
    several = rs.formulations.worst_case(points.with_p(1), y, lam=0.1, gamma=np.linspace(0, 1, 40))
    assert r"\gamma_i \|A_i^\top w\|_{\infty}" in several._repr_latex_()
    chance = rs.formulations.chance_constrained(points.with_p(2), y, lam=0.1, epsilon=0.2, noise="any")
    assert r"1 - 0.2" in chance._repr_latex_()


@EVERY
def test_every_option_shows(name):
    points, y = make_points("full")
    plain = MAKERS[name](points, y, lam=0.1)
    weighted = MAKERS[name](points, y, lam=0.1, sample_weight=np.linspace(1, 2, 40))
    flat = MAKERS[name](points, y, lam=0.1, fit_intercept=False)
    bound = plain.subject_to(plain.w >= 0)
    assert "+ b" in plain.latex()
    assert "+ b" not in flat.latex()
    assert "w, b" not in flat.latex()
    assert r"c_i \xi_i" in weighted.latex()
    assert "c_i in [0.6667,1.333]" in str(weighted)
    assert len(bound.latex().splitlines()) == len(plain.latex().splitlines()) + 1
    loss = {"nominal": rs.losses.Hinge(), "expected_hinge": rs.losses.ExpectedHinge()}.get(
        name, rs.losses.WorstCase(0.5)
    )
    ball = rs.Problem(points, y, loss, penalty=rs.penalties.Ball(2.0), margin=np.linspace(0, 1, 40))
    text = str(rs.formulations.from_problem(ball))
    assert "||w||_2 <= 2" in text
    assert "r_i in [0,1]" in text
    half = rs.formulations.from_problem(rs.Problem(points, y, loss, 0.1, margin=0.5))
    assert "0.5 - " in str(half)


def test_a_chance_per_sample_shows_its_range():
    points, y = make_points("full")
    f = rs.formulations.chance_constrained(points, y, lam=0.1, epsilon=np.linspace(0.1, 0.2, 40))
    assert "epsilon_i in [0.1,0.2]" in str(f)


def test_a_solver_that_is_not_installed_gives_way_with_a_warning():
    points, y = make_points("diagonal")
    missing = next(name for name in ("MOSEK", "GUROBI", "XPRESS") if name not in cp.installed_solvers())
    with pytest.warns(rs.errors.SolverWarning, match=f"{missing} gave no answer, CLARABEL was used.*not installed"):
        solution = rs.formulations.worst_case(points, y, lam=0.05).solve(missing)
    assert solution.cvxpy_solver == "CLARABEL"
    assert solution.attempts[0] == f"{missing}: not installed"
    assert solution.gap <= 1e-6


def test_a_solver_that_cannot_gives_way_with_a_warning():
    points, y = make_points("diagonal", 1.5)
    with pytest.warns(rs.errors.SolverWarning, match="ECOS gave no answer, CLARABEL was used"):
        solution = rs.formulations.worst_case(points, y, lam=0.05).solve("ECOS")
    assert solution.gap <= 1e-6


def failing(names, real=chain.run):
    return lambda problem, solver, options: "failed: on purpose" if solver in names else real(problem, solver, options)


def test_a_solver_that_fails_gives_way_with_a_warning(monkeypatch):
    points, y = make_points("diagonal")
    monkeypatch.setattr(chain, "run", failing({"CLARABEL"}))
    with pytest.warns(rs.errors.SolverWarning, match="CLARABEL gave no answer, ECOS was used"):
        assert rs.formulations.worst_case(points, y, lam=0.05).solve().cvxpy_solver == "ECOS"
    monkeypatch.setattr(chain, "run", failing({"CLARABEL", "ECOS"}))
    with pytest.warns(rs.errors.SolverWarning, match="SCS was used"):
        solution = rs.formulations.worst_case(points, y, lam=0.05).solve()
    assert (solution.cvxpy_solver, solution.status) == ("SCS", "optimal")


@EVERY
def test_when_all_fail_the_error_says_what_to_try(name, monkeypatch):
    points, y = make_points("full")
    monkeypatch.setattr(chain, "run", failing(set(chain.CHAIN)))
    f = MAKERS[name](points, y, lam=0.05)
    with pytest.raises(
        rs.errors.SolverFailedError, match=r"every solver failed \(CLARABEL.*SCS.*Try a larger lam.*verbose"
    ):
        f.solve()
    with pytest.warns(rs.errors.SolverWarning, match="certify"):
        certificate = rs.certify(f.problem, np.ones(4))
    assert 0 <= certificate.lower_bound <= certificate.objective


def test_without_ecos_the_chain_goes_on(monkeypatch):
    points, y = make_points("diagonal")
    installed = [name for name in cp.installed_solvers() if name != "ECOS"]
    monkeypatch.setattr(cp, "installed_solvers", lambda: installed)
    monkeypatch.setattr(chain, "run", failing({"CLARABEL"}))
    with pytest.warns(rs.errors.SolverWarning, match=r"ECOS: not installed \(pip install 'robustsvm\[ecos\]'\)"):
        assert rs.formulations.worst_case(points, y, lam=0.05).solve().cvxpy_solver == "SCS"


def test_a_tolerance_out_of_reach_is_said_and_the_best_answer_kept():
    points, y = make_points("diagonal")
    with pytest.warns(rs.errors.SolverWarning, match="gap .* is above tol 1.0e-15"):
        solution = rs.formulations.worst_case(points, y, lam=0.05).solve(tol=1e-15)
    assert solution.status == "tolerance_not_reached"
    assert solution.gap < 1e-7
    assert len(solution.attempts) == 3


def test_options_reach_the_solver(capfd):
    points, y = make_points("diagonal")
    rs.solve(make_problem("diagonal", rs.losses.Hinge()), cvxpy_solver="clarabel", verbose=1)
    assert "Clarabel" in capfd.readouterr().out
    with pytest.warns(rs.errors.SolverWarning, match="above tol"):
        rough = rs.formulations.worst_case(points, y, lam=0.05).solve("CLARABEL", max_iter=4)
    assert rough.status == "tolerance_not_reached"


def test_a_solution_says_how_it_was_found():
    solution = rs.solve(make_problem("diagonal", rs.losses.WorstCase(1.0)))
    assert {"python", "cvxpy", "clarabel", "numpy", "scipy", "robustsvm"} <= set(solution.versions)
    assert solution.solver == "exact"
    assert solution.seconds > 0
    assert solution.history[-1].objective == solution.objective
    assert "gap=" in repr(solution)
    assert solution == solution
    assert len({solution, solution}) == 1
    points, _ = make_points("diagonal")
    np.testing.assert_array_equal(solution.predict(points), np.sign(points.means @ solution.w + solution.b))
    np.testing.assert_allclose(solution.decision_function(points.means), points.means @ solution.w + solution.b)
    with pytest.raises(ValueError, match="4 features"):
        solution.predict(points.means[:, :2])
    text = str(rs.certify(make_problem("diagonal", rs.losses.WorstCase(1.0)), solution.w, solution.b))
    assert text.startswith("objective")


def test_infeasible_is_told_from_failure():
    assert chain.run(cp.Problem(cp.Minimize(0), [cp.Variable() * 0 >= 1]), "CLARABEL", {}) == "infeasible"


def test_plotting_without_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    points, y = make_points("diagonal", d=2)
    with pytest.raises(ImportError, match=r"robustsvm\[plot\]"):
        rs.plotting.plot_points(points, y)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, np.inf])
@pytest.mark.parametrize("kind", ["isotropic", "diagonal", "factor", "certain"])
def test_outlines_lie_on_the_edge_of_the_set(kind, p):
    points, y = make_points(kind, p, d=2)
    edges = rs.plotting.outlines(points, gamma=2.0, corners=64) - points.means[:, None]
    for direction in np.random.default_rng(0).normal(size=(20, 2)):
        support = (edges @ direction).max(axis=1)
        seen = 2.0 * points.spread.seen(direction, points.q)
        assert (support <= seen * (1 + 1e-9) + 1e-12).all()
        assert (support >= 0.9 * seen).all()
    ax = rs.plotting.plot_points(points, y)
    model = SimpleNamespace(coef_=np.array([[1.0, 1.0]]), intercept_=np.array([0.0]))
    lines = {"one": model, "none": ([0.0, 0.0], 1.0), "far": ([1.0, 0.0], 1e3)}
    rs.plotting.plot_boundaries(lines, ax=ax, margins=True)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["class -1", "class +1", "one", "none (w = 0: no boundary)", "far (outside the picture)"]
    with pytest.raises(TypeError, match="models must be a dict"):
        rs.plotting.plot_boundaries([model], ax=ax)
    with pytest.raises(ValueError, match=r"w must have shape \(2,\)"):
        rs.plotting.plot_boundaries({"w": ([1.0], 0.0)}, ax=ax)
    ax.figure.canvas.draw()
    sys.modules["matplotlib.pyplot"].close(ax.figure)


def test_twenty_lines_look_different_and_radii_may_differ():
    points, y = make_points("diagonal", d=2)
    ax = rs.plotting.plot_points(points, y, gamma=np.linspace(0, 2, 40))
    rs.plotting.plot_boundaries({str(k): ([1.0, k], 0.0) for k in range(20)}, ax=ax)
    assert len({(line.get_color(), line.get_linestyle(), str(line._dash_pattern)) for line in ax.lines}) == 20
    sys.modules["matplotlib.pyplot"].close(ax.figure)


def test_only_the_plane_is_drawn():
    points, y = make_points("diagonal")
    with pytest.raises(ValueError, match="only points in the plane"):
        rs.plotting.plot_points(points, y)


def test_metrics_against_draws_and_scikit_learn_models():
    points, y = make_points("full", n=30)
    solution = rs.formulations.worst_case(points, y, lam=0.05).solve()
    draws = points.sample(4000, random_state=0)
    wrong = np.mean(y * (draws @ solution.w + solution.b) < 0)
    assert abs(rs.metrics.expected_error(solution, points, y) - wrong) < 4e-3
    model = SimpleNamespace(coef_=solution.w[None], intercept_=np.array([solution.b]))
    for metric in (rs.metrics.mean_error, rs.metrics.expected_error, rs.metrics.worst_case_error):
        assert metric(model, points, y) == metric(solution, points, y) == metric((solution.w, solution.b), points, y)
    mean, worst = (
        rs.metrics.mean_error(solution, points, y),
        rs.metrics.worst_case_error(solution, points, y, gamma=2.0),
    )
    assert mean == rs.metrics.worst_case_error(solution, points, y, gamma=0.0) <= worst
    assert rs.metrics.mean_error(solution, points[:1], y[:1]) in (0.0, 1.0)
